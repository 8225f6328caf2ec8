"""OpenGL for MuJoCo's worlds: chosen where there is no display, and not tried twice in vain."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

BACKEND = "MUJOCO_GL"
"""The variable that MuJoCo looks at when it is imported, and Gymnasium when it first draws."""
_failures: list[str] = []
_successes: list[bool] = []


def choose_backend() -> None:
    """Draw without a display where there is none.

    A plugin may have imported MuJoCo long before: then it is too late for MuJoCo's own renderer,
    but not for Gymnasium's environments.
    """
    if sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
        os.environ.setdefault(BACKEND, "egl")


@contextlib.contextmanager
def drawing() -> Iterator[None]:
    """Draw inside this.

    MuJoCo says that it found no OpenGL the first time; at the second time it ends the process. So
    a second time is answered with what was said at the first.
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
