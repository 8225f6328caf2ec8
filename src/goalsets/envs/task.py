"""Task: everything needed to train and evaluate in an environment; and the registry of tasks."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from goalsets.core import Episode, Query, Registry, StateLayout
from goalsets.core.extras import check_installed
from goalsets.envs.adapter import Adapter, Floats
from goalsets.envs.graphics import choose_backend

if TYPE_CHECKING:
    import gymnasium

    from goalsets.envs.landscape import Terrain

Colour = tuple[int, int, int]
Tuned = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Fields of a training configuration, by preset and learner."""
Shows = tuple[tuple[str, tuple[str, ...]], ...]
"""Pairs of a pattern for the names of bodies, and prefixes of the groups that these bodies show."""


@dataclass(frozen=True)
class Script:
    """Data that a task can make in seconds."""

    source: str
    """The origin of the data, for people."""
    train: Callable[[], Sequence[Episode]]
    held_out: Callable[[], Sequence[Episode]]


@dataclass(frozen=True)
class Scene:
    """How the playground shows a task, and how positions in states map to the scene."""

    view: Literal["table", "maze", "free"] = "free"
    """The camera of a 3D scene: in front of a table, above a maze, or at a place that the extent of
    the model gives."""
    scale: float = 1.0
    """Observation units per unit of the scene."""
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The position of the observation's origin in the scene."""
    bounds: tuple[tuple[float, ...], tuple[float, ...]] = ((-1e3,) * 3, (1e3,) * 3)
    """Lowest and highest position in the scene to which something may be dragged."""
    grips: tuple[tuple[str, str], ...] | None = None
    """What can be dragged: its name for people, and the group with its position in two or three
    coordinates. None finds them by OGBench's names of groups."""
    buttons: tuple[Colour, Colour] | None = None
    """Colours of a button's two states, in worlds with buttons."""
    shows: Shows = ()
    """Which groups of the layout a body of a MuJoCo model shows. The first match counts. A body
    without a match shows the groups of its parent. If this is empty, every body shows all
    groups."""


@dataclass(frozen=True)
class Task:
    """A data set's name, and everything needed to train and evaluate on it.

    All commands know the tasks in `TASKS`. Five fields are enough for a plain environment; the
    other fields and the methods describe what goalsets cannot find out. `goalsets.check_task`
    checks a task.
    """

    name: str
    """The name of the data set, in OGBench's form: the environment, then the kind of data."""
    env_id: str
    """The Gymnasium id of its environment; `package.module:id` imports the module first."""
    layout: StateLayout
    """The layout of the states; its `task` is the official query."""
    horizon: int
    """Steps of an evaluation episode."""
    relabel_horizon: int
    """H_max: how far ahead a future state may become a goal."""
    motion: int | None = None
    """The usual number of steps of a motion in the data, such as a pick and place. Direct goals are
    reached within this many steps. None if motions do not stop, as in a maze."""
    published: bool = False
    """Whether OGBench has a data set of this name to download."""
    goals: tuple[str, ...] = ("goal",)
    """Names of the official goals. Their numbers begin with 1. The environment receives a number as
    `reset(options={"task_id": number})`."""
    adapter: type[Adapter] = Adapter
    """The adapter for its environment."""
    data_kind: str | None = None
    """The kind of data in the paper's table of α: play, noisy or pointmaze."""
    presets: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """Presets that are replaced by others: a small world uses `small` for `cpu`."""
    tuned: Tuned = field(default_factory=dict[str, Mapping[str, Mapping[str, Any]]], hash=False)
    """By preset and learner: fields of a configuration that measurements chose for this task. They
    replace those of the preset."""
    action_range: tuple[float, float] | None = None
    """Smallest and largest value of every component of actions; None asks the environment."""
    domain: str = "Other"
    """The heading under which figures show it."""
    scene: Scene = Scene()
    """How the playground shows it."""

    @property
    def family(self) -> str:
        """The first word of the name: tasks of one family have layouts of one kind."""
        return self.name.partition("-")[0]

    @property
    def query(self) -> Query:
        """The official query."""
        return Query.parse("task", self.layout)

    @property
    def goal_numbers(self) -> range:
        """The numbers of the official goals, from 1 on."""
        return range(1, len(self.goals) + 1)

    def require_libraries(self) -> None:
        """Raise an error that says what to install if the environment's library is missing."""
        check_installed("gymnasium", f"the environment of {self.name}")

    def make(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:  # noqa: ANN401 - Gymnasium's own
        """Create the environment."""
        self.require_libraries()
        import gymnasium

        return gymnasium.make(self.env_id, **kwargs)

    def open(self, render: bool = False) -> Adapter:
        """Create the environment with its adapter; warnings of its libraries are not shown.

        Args:
            render: Whether the environment will be drawn.
        """
        if render:
            choose_backend()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.adapter(self, self.make_drawn() if render else self.make())

    def make_drawn(self) -> gymnasium.Env[Any, Any]:
        """Create the environment so that it can be drawn."""
        return self.make(render_mode="rgb_array")

    def action_bounds(self, action_dim: int) -> tuple[Floats, Floats] | None:
        """Smallest and largest actions `[A]`; None if neither task nor environment knows them."""
        if self.action_range is not None:
            low, high = (np.full(action_dim, bound, np.float32) for bound in self.action_range)
            return low, high
        world = self.open()
        try:
            return world.action_bounds
        finally:
            world.close()

    @property
    def script(self) -> Script | None:
        """The data that the task can make; None if its data is collected or imported."""
        return None

    @property
    def terrain(self) -> Terrain | None:
        """The planes of a value landscape; None if states cannot be laid out in a plane."""
        return None

    def with_layout(self, layout: StateLayout) -> Task:
        """The same task with the layout that a run has stored."""
        return dataclasses.replace(self, layout=layout)


TASKS: Registry[Task] = Registry("task", "goalsets tasks")
"""Every task by name. `goalsets.envs.tasks` fills it: import it from there."""
