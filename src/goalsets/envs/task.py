"""Task: what it takes to train and to judge on one environment, and the registry of all tasks."""

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
Shows = tuple[tuple[str, tuple[str, ...]], ...]
"""A pattern of bodies' names, and how the names of the groups begin that such a body shows."""


@dataclass(frozen=True)
class Script:
    """Data that a task makes by itself, in seconds."""

    source: str
    """Who made it, for people."""
    train: Callable[[], Sequence[Episode]]
    held_out: Callable[[], Sequence[Episode]]


@dataclass(frozen=True)
class Scene:
    """How the playground shows a task, and where the positions of its states lie in that."""

    view: Literal["table", "maze", "free"] = "free"
    """Where the camera of a 3D scene stands: before arms at a table, above a maze, or where the
    model's own extent puts it."""
    scale: float = 1.0
    """Observation units in a unit of the scene."""
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Where the scene has the observation's origin."""
    bounds: tuple[tuple[float, ...], tuple[float, ...]] = ((-1e3,) * 3, (1e3,) * 3)
    """Lowest and highest place in the scene that something may be dragged to."""
    grips: tuple[tuple[str, str], ...] | None = None
    """What can be dragged, by its name for people and the group of its position in two or three
    coordinates. None goes by OGBench's names of groups."""
    buttons: tuple[Colour, Colour] | None = None
    """Colours of a button's two states, in worlds that have buttons."""
    shows: Shows = ()
    """Which groups of the layout a body of a MuJoCo model shows; the first match counts, and a body
    without one shows what its parent does. Where nothing is said, every body shows all of them."""


@dataclass(frozen=True)
class Task:
    """A data set's name, and what it takes to train and to judge on it.

    One in `TASKS` is known everywhere. Five fields are enough for a plain environment; the others,
    and the methods, say what the product cannot know by itself. `goalsets.check_task` says whether
    they fit.
    """

    name: str
    """As OGBench names the data set: environment, then how the data was collected."""
    env_id: str
    """The Gymnasium id of its environment; `package.module:id` imports the module first."""
    layout: StateLayout
    """What the coordinates mean; its `task` is the official query."""
    horizon: int
    """Steps of an evaluation episode."""
    relabel_horizon: int
    """H_max: how far ahead a future state may become a goal."""
    motion: int | None = None
    """Steps that a motion in the data takes, such as a pick and place: within them a direct goal is
    arrived at. None where every step leads somewhere, as in a maze."""
    published: bool = False
    """Whether OGBench has a data set of this name to download."""
    goals: tuple[str, ...] = ("goal",)
    """Names of the official goals. Their numbers begin with 1, and reach the environment as
    `reset(options={"task_id": number})`."""
    adapter: type[Adapter] = Adapter
    """What turns its environment into one that the product can use."""
    data_kind: str | None = None
    """What the data is like, as the paper's table of α divides it: play, noisy or pointmaze."""
    presets: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    """Presets that others stand for here: a small world takes `small` for `cpu`."""
    action_range: tuple[float, float] | None = None
    """Smallest and largest action of every component, where that is known without looking; None
    asks the environment."""
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
        """Say what to install where the environment lacks a library, before work is begun."""
        check_installed("gymnasium", f"the environment of {self.name}")

    def make(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:  # noqa: ANN401 - Gymnasium's own
        """Create the environment."""
        self.require_libraries()
        import gymnasium

        return gymnasium.make(self.env_id, **kwargs)

    def open(self, render: bool = False) -> Adapter:
        """Create the environment with its adapter, without what its libraries say about it.

        Args:
            render: Whether pictures will be asked for.
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
        """Smallest and largest actions `[A]`; None where neither task nor environment knows."""
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
        """The data that it makes by itself; None where data is collected or imported."""
        return None

    @property
    def terrain(self) -> Terrain | None:
        """What a value landscape is drawn over; None where states cannot be laid out in a plane."""
        return None

    def with_layout(self, layout: StateLayout) -> Task:
        """The same task under a layout that a run has kept."""
        return dataclasses.replace(self, layout=layout)


TASKS: Registry[Task] = Registry("task", "goalsets tasks")
"""Every task by name. It is filled by `goalsets.envs.tasks`: import it from there."""
