"""`goalsets play`: the playground in a browser."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import tyro

from goalsets.cli.counts import Count, OptionalSize, Size
from goalsets.strangers import TOKEN_VARIABLE


def play(
    runs: Annotated[tuple[str, ...], tyro.conf.Positional] = ("demo",),
    host: str = "127.0.0.1",
    port: Size = 8080,
    sessions: Count = 4,
    step: OptionalSize = None,
    data: Path | None = None,
) -> None:
    """Play with a policy in a browser: point at a goal, tick what matters, watch the robot.

    The page shows the robot and, as a ghost, the goal. Choose a goal, or drag the ghost; tick what
    of it counts; press Play. Goal and question may change while the robot moves. The page says how
    far each requirement is from true, what the policy predicts, and what the data knows of the
    question. With two runs of one task, both are asked the same, side by side.

    The server listens on this machine only, unless told otherwise; on any other address the page
    needs a token, which is part of the address that is printed, or $GOALSETS_TOKEN. It needs no
    screen, no GPU, no internet.

    Args:
        runs: A run directory, or demo, the model that comes with goalsets; two to compare.
        host: The address to listen on. 0.0.0.0 lets other machines in that know the token.
        port: The port; 0 takes any that is free.
        sessions: Browser tabs that may play at a time, each with a world of its own.
        step: A step whose weights were kept; the latest checkpoint unless given.
        data: The store that tells whether the data supports a question; by default the one in
            $GOALSETS_DATA or ~/.goalsets/data under the task's name, if it is there.
    """
    # MuJoCo chooses how to draw when it is imported; films need it, the page does not.
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
    from goalsets.core import GoalsetsError

    try:
        from goalsets.play.app import Playground
    except ImportError as error:
        raise GoalsetsError(
            f"playing needs libraries that cannot be imported ({error}). "
            'Install them with: pip install "goalsets[play]"'
        ) from None
    from goalsets.play.setup import open_setup

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    setup = open_setup(runs, step=step, data=data)
    for checkpoint in setup.checkpoints:
        print(f"{checkpoint}, trained on {checkpoint.config.task}")
    token = os.environ.get(TOKEN_VARIABLE) or None
    playground = Playground(setup, host=host, port=port, sessions=sessions, token=token)
    print(f"open {playground.url} in a browser; Ctrl-C ends it", flush=True)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    over.wait()
    playground.close()
    print("the playground has ended", flush=True)
