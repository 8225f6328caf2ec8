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

from goalsets.cli.counts import Count, OptionalSize, Size
from goalsets.strangers import TOKEN_VARIABLE

if TYPE_CHECKING:
    from goalsets.play.app import Venue


def play(  # noqa: PLR0913, PLR0917 - the flags of a command
    runs: Annotated[tuple[str, ...], tyro.conf.Positional] = ("demo",),
    host: str = "127.0.0.1",
    port: Size = 8080,
    sessions: Count = 4,
    step: OptionalSize = None,
    data: Path | None = None,
    logs: bool = False,
    model: Path | None = None,
    joints: tuple[str, ...] = (),
) -> None:
    """Play with a policy in a browser: point at a goal, tick what matters, watch the robot.

    The page shows the robot and, as a ghost, the goal. Choose a goal, or drag the ghost; tick what
    of it counts; press Play. Goal and question may change while the robot moves. The page says how
    far each requirement is from true, what the policy predicts, and what the data knows of the
    question. With two runs of one task, both are asked the same, side by side.

    A run on logs of your own has no simulator. Its page shows held-out episodes: move through one,
    choose a goal and a question, and see at every step what the policy would have done beside what
    was done, how far it believes to be, how the question stands, and what the data knows of it.
    --model draws the robot.

    The server listens on this machine only, unless told otherwise; on any other address the page
    needs a token, which is part of the address that is printed, or $GOALSETS_TOKEN. It needs no
    screen, no GPU, no internet.

    Args:
        runs: A run directory, or demo, the model that comes with goalsets; two to compare.
        host: The address to listen on. 0.0.0.0 lets other machines in that know the token.
        port: The port; 0 takes any that is free.
        sessions: Browser tabs that may play at a time, each with a world of its own.
        step: A step whose weights were kept; the latest checkpoint unless given.
        data: The store that tells whether the data supports a question, and whose held-out episodes
            are shown where there is no simulator; by default the one that the run was trained on,
            or the one in $GOALSETS_DATA or ~/.goalsets/data under the task's name.
        logs: Show held-out episodes although the task has a simulator.
        model: The robot of the logs, to be drawn: MJCF (.xml) or URDF. A group of the layout moves
            the joint that has its name: shoulder_pan.pos moves shoulder_pan_joint.
        joints: What moves which joint where names do not tell: pairs such as
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
    playground = Playground(venue, host=host, port=port, sessions=sessions, token=token)
    print(f"open {playground.url} in a browser; Ctrl-C ends it", flush=True)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
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
