"""Films of recordings, made beside everything else."""

from __future__ import annotations

import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from goalsets.core import GoalsetsError
from goalsets.envs.tabletop import render_state
from goalsets.envs.tasks import Task
from goalsets.evaluate.camera import (
    FRAMES,
    Picture,
    lay_in,
    make_filmed,
    picture_of_goal,
    with_caption,
    write_film,
)
from goalsets.evaluate.poses import put_state, show_goal
from goalsets.play.recording import Cue, Recording
from goalsets.play.world import STARTING, Frame, World

MAX_WAITING = 4
"""Films that may wait: each takes seconds."""


class FilmError(GoalsetsError):
    """A film that is not made now; the message says why."""


class Filmer:
    """Makes one film after another in a thread of its own, which OpenGL contexts ask for.

    Args:
        task: Whose worlds are filmed.
        names: Of the checkpoints, for the captions.
    """

    def __init__(self, task: Task, names: list[str]) -> None:
        """Make nothing yet; the world for filming is built with the first film."""
        self._task = task
        self._names = names
        self._world: World | None = None
        self._inset: tuple[Cue, Picture] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="film")
        self._waiting = 0
        self._lock = threading.Lock()

    def order(self, recording: Recording) -> Future[tuple[str, bytes]]:
        """Have a film made: the future brings its file's name and content."""
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
        draw = self._draw_tabletop if self._task.family == "tabletop" else self._draw_physics
        panes: list[Picture] = []
        for name, take, reached in zip(
            self._names, recording.takes, recording.reached, strict=True
        ):
            step = recording.step_at(moment)
            seen = draw(take[min(moment, len(take) - 1)], cue)
            told = f"step {step}" + (" reached" if reached is not None and step >= reached else "")
            named = f"{name}: {told}" if len(self._names) > 1 else told
            panes.append(with_caption(seen, f"{named}  {cue.goals.query}"))
        return np.concatenate(panes, axis=1)

    def _draw_tabletop(self, frame: Frame, cue: Cue) -> Picture:
        return render_state(frame.observation, cue.goal.state, query=cue.goals.query)

    def _draw_physics(self, frame: Frame, cue: Cue) -> Picture:
        import mujoco

        if self._world is None:
            self._world = World(self._task, make_filmed(self._task))
        env: Any = self._world.env
        if self._inset is None or self._inset[0] is not cue:
            with STARTING:
                self._inset = cue, picture_of_goal(env, cue.goal.state, cue.goals.query)
        put_state(env, frame.observation)  # sets what joints do not tell: the buttons' colours
        physics = self._world.physics
        assert physics is not None
        physics[1].qpos[:] = frame.pose
        mujoco.mj_forward(*physics)  # pyright: ignore[reportAttributeAccessIssue]
        show_goal(env, cue.goal.state, cue.goals.query)
        seen = np.array(env.render())
        lay_in(seen, self._inset[1])
        return seen
