"""`goalsets play`: the playground in a browser."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from goalsets.cli.counts import Count, OptionalSize, Port
from goalsets.strangers import TOKEN_VARIABLE

if TYPE_CHECKING:
    from goalsets.play.app import Venue


def play(  # noqa: PLR0913, PLR0917 - the flags of a command
    runs: Annotated[tuple[str, ...], tyro.conf.Positional] = ("demo",),
    host: str = "127.0.0.1",
    port: Port = 8080,
    sessions: Count = 4,
    step: OptionalSize = None,
    data: Path | None = None,
    logs: bool = False,
    model: Path | None = None,
    joints: tuple[str, ...] = (),
) -> None:
    """Play with a policy in a browser: point at a goal, tick what matters, watch the robot.

    The page shows the robot, and the goal as a ghost. Choose a goal, or drag the ghost. Tick what
    matters, and press Play. You may change goal and question while the robot moves. The page shows
    how far each requirement is from satisfied, what the policy predicts, and what the data shows
    about the question. With two runs of one task, both are asked the same question, side by side.

    A run on logs of your own has no simulator. Its page shows held-out episodes. Move through one,
    choose a goal and a question, and see at every step the policy's action beside the recorded one,
    the distance that the policy predicts, and which requirements hold. --model draws the robot.

    By default the server listens on this machine only. On any other address the page needs a token;
    it is part of the address that is printed, or you set it in $GOALSETS_TOKEN. The server needs no
    screen, no GPU and no internet.

    Args:
        runs: A run directory, or a model that comes with goalsets: demo or two-cubes. Two can be
            compared.
        host: The address to listen on. With 0.0.0.0, other machines that have the token may
            connect.
        port: The port; 0 takes any that is free.
        sessions: How many browser tabs may play at a time. Each has its own simulator.
        step: A step whose weights were kept; the latest checkpoint unless given.
        data: The store to check questions against, and whose held-out episodes are shown if there
            is no simulator; by default the one that the run was trained on, or the one in
            $GOALSETS_DATA or ~/.goalsets/data under the task's name.
        logs: Show held-out episodes even if the task has a simulator.
        model: A model of the robot, to draw it in the logs: MJCF (.xml) or URDF. A group of the
            layout moves the joint with the same name: shoulder_pan.pos moves shoulder_pan_joint.
        joints: Which group moves which joint, if the names differ: pairs such as
            shoulder=shoulder_pan_joint,arm.1=elbow_joint, or a YAML or JSON file of them.
    """
    # MuJoCo chooses how to draw when it is imported; films need it, the page does not.
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
    from goalsets.core import GoalsetsError
    from goalsets.core.extras import needed_by

    with needed_by("playing", "play"):
        from goalsets.play.app import Playground

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    if logs or not _has_simulator(runs):
        venue = _logs(runs, step, data, model, joints)
    else:
        if model is not None or joints:
            raise GoalsetsError(
                "--model and --joints draw the robot of recorded episodes; this task has a "
                "simulator, which draws itself. Add --logs to look at its recorded episodes."
            )
        venue = _simulators(runs, step, data)
    token = os.environ.get(TOKEN_VARIABLE) or None
    # Before the address is printed: whoever reads it may send a signal at once.
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    playground = Playground(venue, host=host, port=port, sessions=sessions, token=token)
    print(f"open {playground.url} in a browser; Ctrl-C ends it", flush=True)
    over.wait()
    playground.close()
    print("the playground has ended", flush=True)


def _has_simulator(runs: Sequence[str]) -> bool:
    """Whether the task of the first run has an environment."""
    from goalsets.envs.tasks import TASKS
    from goalsets.runs.run import Run

    return not runs or Run.open(runs[0]).config.task in TASKS


def _simulators(runs: Sequence[str], step: int | None, data: Path | None) -> Venue:
    from goalsets.play.app import Simulators
    from goalsets.play.setup import open_setup

    setup = open_setup(runs, step=step, data=data)
    for checkpoint in setup.checkpoints:
        print(f"{checkpoint}, trained on {checkpoint.config.task}")
    return Simulators(setup)


def _logs(
    runs: Sequence[str],
    step: int | None,
    data: Path | None,
    model: Path | None,
    joints: Sequence[str],
) -> Venue:
    from goalsets.cli.posing import run_store
    from goalsets.play.logs.setup import open_logs
    from goalsets.play.logs.venue import Logs
    from goalsets.runs.run import Run

    store = run_store(Run.open(runs[0]), data)
    setup = open_logs(runs, store, step=step, model=model, joints=joints)
    for checkpoint in setup.checkpoints:
        print(f"{checkpoint}, trained on {checkpoint.config.task}")
    kind = "held-out" if setup.held_out else "training"
    print(f"no simulator: {setup.data.num_episodes:,} {kind} episodes of {store.path} are shown")
    if setup.robot is not None:
        moved = [f"{drive.source} moves {drive.joint.name}" for drive in setup.robot.driven.drives]
        print(f"{setup.robot.path.name}: {', '.join(moved)}")
        for note in setup.robot.notes:
            print(f"note: {note}")
    return Logs(setup)
