"""Films of recordings, made in the background."""

from __future__ import annotations

import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from goalsets.core import GoalsetsError
from goalsets.envs.tasks import Task
from goalsets.evaluate.camera import (
    FRAMES,
    Picture,
    draw_world,
    picture_of_goal,
    with_caption,
    write_film,
)
from goalsets.play.recording import Cue, Recording
from goalsets.play.world import Frame, World

MAX_WAITING = 4
"""Films that may wait: each takes seconds."""


class FilmError(GoalsetsError):
    """A film cannot be made now; the message says why."""


class Filmer:
    """Makes one film after another, in one thread because OpenGL contexts need that.

    Args:
        task: The task of the worlds.
        names: The names of the checkpoints, for the captions.
    """

    def __init__(self, task: Task, names: list[str]) -> None:
        """Make nothing yet; the world for filming is built with the first film."""
        self._task = task
        self._names = names
        self._world: World | None = None
        self._inset: tuple[Cue, Picture | None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="film")
        self._waiting = 0
        self._lock = threading.Lock()

    def order(self, recording: Recording) -> Future[tuple[str, bytes]]:
        """Order a film; the future returns the name and the content of its file."""
        with self._lock:
            if self._waiting >= MAX_WAITING:
                raise FilmError(f"{MAX_WAITING} films are being made already; try again later.")
            self._waiting += 1
        future = self._thread.submit(self._make, recording)
        future.add_done_callback(lambda _: self._one_less())
        return future

    def close(self) -> None:
        """Make no more films."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _one_less(self) -> None:
        with self._lock:
            self._waiting -= 1

    def _make(self, recording: Recording) -> tuple[str, bytes]:
        count = min(FRAMES, recording.length)
        moments = np.linspace(0, recording.length - 1, count).astype(int)
        pictures = [self._picture(recording, int(moment)) for moment in moments]
        with tempfile.TemporaryDirectory() as place:
            path, _ = write_film(pictures, Path(place) / f"episode-{recording.number}.mp4")
            return path.name, path.read_bytes()

    def _picture(self, recording: Recording, moment: int) -> Picture:
        """The panes side by side."""
        cue = recording.cue_at(moment)
        panes: list[Picture] = []
        for name, take, reached in zip(
            self._names, recording.takes, recording.reached, strict=True
        ):
            step = recording.step_at(moment)
            seen = self._draw(take[min(moment, len(take) - 1)], cue)
            told = f"step {step}" + (" reached" if reached is not None and step >= reached else "")
            named = f"{name}: {told}" if len(self._names) > 1 else told
            panes.append(with_caption(seen, f"{named}  {cue.goals.query}"))
        return np.concatenate(panes, axis=1)

    def _draw(self, frame: Frame, cue: Cue) -> Picture:
        if self._world is None:
            self._world = World(self._task, render=True)
        world = self._world.adapter
        goal, query = cue.goal.state, cue.goals.query
        if self._inset is None or self._inset[0] is not cue:
            self._inset = cue, picture_of_goal(world, goal, query)
        world.observation = frame.observation
        if self._world.physics is not None:
            self._pose(self._world, frame)
        world.show_goal(goal, query)
        return draw_world(world, goal, query, self._inset[1])

    @staticmethod
    def _pose(world: World, frame: Frame) -> None:
        """Set a simulator to a moment."""
        import mujoco

        world.adapter.put(frame.observation)  # for what joints do not show: the buttons' colours
        assert world.physics is not None
        world.physics[1].qpos[:] = frame.pose
        mujoco.mj_forward(*world.physics)  # pyright: ignore[reportAttributeAccessIssue]
