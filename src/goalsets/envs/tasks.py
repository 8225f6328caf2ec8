"""Every task by name: its environment, layout, horizon and official question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from goalsets.core import GoalsetsError, Query, Registry, StateLayout
from goalsets.envs import layouts
from goalsets.envs.tabletop.layout import tabletop_layout

if TYPE_CHECKING:
    import gymnasium


@dataclass(frozen=True)
class Task:
    """A data set's name, and what it takes to train and to judge on it."""

    name: str
    """As OGBench names the data set: environment, then how the data was collected."""
    env_id: str
    """The Gymnasium id of its environment."""
    layout: StateLayout
    """What the coordinates mean; its `task` is the official query."""
    horizon: int
    """Steps of an evaluation episode."""
    relabel_horizon: int
    """H_max: how far ahead a future state may become a goal."""

    @property
    def query(self) -> Query:
        """The official query."""
        return Query.parse("task", self.layout)

    def make(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:  # noqa: ANN401 - Gymnasium's own
        """Create the environment."""
        import gymnasium

        if not self.env_id.startswith("goalsets/"):
            _import_ogbench()
        return gymnasium.make(self.env_id, **kwargs)


def _import_ogbench() -> None:
    """Import OGBench, which registers its environments, or say why it is not here."""
    try:
        import ogbench  # noqa: F401
    except ImportError as error:
        raise GoalsetsError(
            f"this task needs OGBench, which cannot be imported ({error}). It has no release for "
            "Python 3.13 and later: use Python 3.10 to 3.12."
        ) from None


TASKS: Registry[Task] = Registry("task")


def _add(name: str, env_id: str, layout: StateLayout, horizon: int, relabel_horizon: int) -> None:
    TASKS.add(name, Task(name, env_id, layout, horizon, relabel_horizon))


for _data in ("play", "noisy"):
    _add(f"cube-single-{_data}-v0", "cube-single-v0", layouts.cube_layout(1), 200, 200)
    _add(f"cube-double-{_data}-v0", "cube-double-v0", layouts.cube_layout(2), 500, 500)
_add("scene-play-v0", "scene-v0", layouts.scene_layout(), 750, 1000)
for _size, _horizon in (("medium", 500), ("large", 1000)):
    _add(
        f"pointmaze-{_size}-navigate-v0",
        f"pointmaze-{_size}-v0",
        layouts.pointmaze_layout(),
        1000,
        _horizon,
    )
for _name, _blocks, _horizon in (("single", 1, 100), ("double", 2, 200)):
    _add(
        f"tabletop-{_name}-v0",
        f"goalsets/Tabletop{_name.capitalize()}-v0",
        tabletop_layout(_blocks),
        _horizon,
        60 * _blocks,
    )
_add("antmaze-medium-navigate-v0", "antmaze-medium-v0", layouts.antmaze_layout(), 1000, 1000)
