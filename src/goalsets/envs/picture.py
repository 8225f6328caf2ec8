"""A picture of a task: its environment at the start of an episode, drawn without a display."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.envs.adapter import SIDE, CannotError
from goalsets.envs.graphics import BACKEND
from goalsets.envs.task import Task


def draw(
    task: Task, size: int = SIDE, *, task_id: int = 1, near: bool = False
) -> NDArray[np.uint8]:
    """Draw the start of an official episode: `uint8[H, W, 3]`.

    Args:
        task: What to draw.
        size: Width in pixels; the height is equal, except for worlds that show several views.
        task_id: Which of the official goals, from 1 on. The environments mark it.
        near: Move the camera near, if the task supports it, as mazes do.
    """
    # Some environments use numpy's global generator at their start: restore its state afterwards.
    state = np.random.get_state()  # noqa: NPY002
    try:
        world = task.open(render=True)
        observation, goal = world.start(task_id, 0)
    finally:
        np.random.set_state(state)  # noqa: NPY002
    if world.can("draw"):
        return world.draw(observation, goal, task.query, size)
    if near:
        world.come_close()
    with _explained(task):
        return world.render(size)


@contextlib.contextmanager
def _explained(task: Task) -> Iterator[None]:
    """Turn an error of OpenGL into one that says what to do.

    It may come from mujoco, from PyOpenGL or from the driver, each with its own classes.
    """
    try:
        yield
    except CannotError:
        raise
    except Exception as error:
        raise GoalsetsError(
            f"cannot draw {task.name}: OpenGL does not work here with "
            f"{BACKEND}={os.environ.get(BACKEND, '')} ({error}). Without a display, install the "
            f"system's EGL library and set {BACKEND}=egl, or OSMesa and {BACKEND}=osmesa."
        ) from error
