"""A picture of a task: its environment at the start of an episode, drawn without a display."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.envs.tasks import Task

_BACKEND = "MUJOCO_GL"
_FOLLOW = 9.0
"""Metres between the camera and a creature in a maze: near enough to see its legs."""


def draw(task: Task, size: int = 400, *, task_id: int = 1, near: bool = False) -> NDArray[np.uint8]:
    """Draw the start of an official episode: `uint8[H, W, 3]`.

    Args:
        task: What to draw.
        size: Width in pixels; the height is the same, but for the tabletop, which shows two views.
        task_id: Which of the official goals, 1 to 5. The environments mark it.
        near: In a maze, look at the creature from close by; otherwise at the maze from above.
    """
    if task.family == "tabletop":
        from goalsets.envs.tabletop.render import render_state

        observation, info = task.make().reset(seed=0, options={"task_id": task_id})
        return render_state(observation, info["goal"], query=task.query, width=size)
    _choose_backend()
    with _explained(task):
        import mujoco  # noqa: F401 - it loads OpenGL, and fails where that fails
    # Mazes draw from the global generator; it is given back as it was.
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    try:
        env: Any = task.make(render_mode="rgb_array", width=size, height=size).unwrapped
        env.reset(seed=0, options={"task_id": task_id})
    finally:
        np.random.set_state(state)  # noqa: NPY002
    if near:
        _look_closely(env)
    with _explained(task):
        return np.asarray(env.render())


def _choose_backend() -> None:
    """Draw without a display where there is none; MuJoCo looks at this when it is imported."""
    headless = sys.platform.startswith("linux") and not os.environ.get("DISPLAY")
    if headless and "mujoco" not in sys.modules:
        os.environ.setdefault(_BACKEND, "egl")


def _look_closely(env: Any) -> None:  # noqa: ANN401 - OGBench has no types
    if hasattr(env, "custom_camera"):
        env.custom_camera.lookat[:2] = env.get_xy()
        env.custom_camera.distance = _FOLLOW
        env.custom_camera.elevation = -65


@contextlib.contextmanager
def _explained(task: Task) -> Iterator[None]:
    """Turn what goes wrong with OpenGL into an error for people.

    It is told by mujoco, by PyOpenGL or by the driver, each with errors of its own.
    """
    try:
        yield
    except Exception as error:
        raise GoalsetsError(
            f"cannot draw {task.name}: OpenGL does not work here with "
            f"{_BACKEND}={os.environ.get(_BACKEND, '')} ({error}). Without a display, install the "
            f"system's EGL library and set {_BACKEND}=egl, or OSMesa and {_BACKEND}=osmesa."
        ) from error
