"""A small world of our own: somebody walks on a floor to one of three places.

It fits as it is; tests break one thing at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from goalsets import Group, StateLayout
from goalsets.envs.tasks import Adapter, Task

LAYOUT = StateLayout(
    3,
    [
        Group("pos", (0, 1), unit="m", tolerance=0.5),
        Group("battery", (2,), "absolute", tolerance=0.1),
    ],
    task="pos",
    name="walk",
)
PLACES = np.array([[2.0, 0.0], [0.0, 2.0], [-2.0, -2.0]])
RADIUS = 0.5


class Walk(gymnasium.Env[Any, Any]):
    """Observes the place and a battery that runs down; actions move."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012
    observation_space: spaces.Space[Any] = spaces.Box(-100.0, 100.0, (3,), np.float32)
    action_space: spaces.Space[Any] = spaces.Box(-0.1, 0.1, (2,), np.float32)
    radius = RADIUS

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.state = np.zeros(3)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.place = PLACES[(options or {}).get("task_id", 1) - 1]
        self.state = np.array([*self.np_random.uniform(-0.3, 0.3, 2), 1.0])
        return self.observe(), {"goal": np.array([*self.place, 1.0])}

    def step(self, action: Any) -> Any:
        self.state[:2] += np.asarray(action)[:2]
        self.state[2] *= 0.99
        reached = bool(np.linalg.norm(self.state[:2] - self.place) <= self.radius)
        return self.observe(), float(reached), reached, False, {"success": reached}

    def observe(self) -> Any:
        return self.state.astype(np.float32)

    def render(self) -> Any:
        return np.full((48, 32, 3), 200, dtype=np.uint8)


class WalkAdapter(Adapter):
    """Can do everything that a world of this kind may do."""

    def put(self, state: Any) -> None:
        self.inner.state = np.array(state, dtype=np.float64)

    def look(self) -> Any:
        return self.observe(self.inner.observe())

    @property
    def pushes(self) -> str | None:
        return "walker"

    def push(self, rng: np.random.Generator) -> None:
        self.inner.state[:2] += rng.uniform(-1, 1, 2)


@dataclass(frozen=True)
class WalkTask(Task):
    """Makes its environment itself, which no registry needs to know."""

    kind: type[Walk] = Walk
    limit: int | None = 40

    def make(self, **kwargs: Any) -> Any:
        spec = gymnasium.envs.registration.EnvSpec(self.env_id, max_episode_steps=self.limit)
        env = self.kind(**kwargs)
        env.spec = spec
        if self.limit is None:
            return env
        return gymnasium.wrappers.TimeLimit(env, self.limit)


def walk_task(**changes: Any) -> WalkTask:
    """The task, with something else about it."""
    fields = {
        "name": "walk-v0",
        "env_id": "Walk-v0",
        "layout": LAYOUT,
        "horizon": 40,
        "relabel_horizon": 20,
        "goals": ("east", "north", "corner"),
        "adapter": WalkAdapter,
    }
    return WalkTask(**{**fields, **changes})


def broken(base: type, **members: Any) -> Any:
    """A class with something else in it."""
    return type(f"Broken{base.__name__}", (base,), members)
