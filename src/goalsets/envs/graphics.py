"""OpenGL for MuJoCo: chooses a back end without a display, and does not retry after a failure."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

BACKEND = "MUJOCO_GL"
"""The variable that MuJoCo reads when it is imported, and Gymnasium when it first draws."""
_failures: list[str] = []
_successes: list[bool] = []


def choose_backend() -> None:
    """Choose EGL on Linux if there is no display.

    If a plugin has imported MuJoCo before, this has no effect on MuJoCo's own renderer, but it
    still works for Gymnasium's environments.
    """
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        os.environ.setdefault(BACKEND, "egl")


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """A context in which to draw.

    If there is no OpenGL, MuJoCo raises an error at the first attempt and ends the process at the
    second. So a second attempt raises the first error again.
    """
    if _failures:
        raise RuntimeError(_failures[0])
    try:
        yield
    except Exception as error:
        if not _successes:
            _failures.append(str(error))
        raise
    if not _successes:
        _successes.append(True)
