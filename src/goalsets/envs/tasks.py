"""Every task by name: its environment, layout, horizon and official question."""

from __future__ import annotations

from collections.abc import Mapping
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
    published: bool = True
    """Whether OGBench has a data set of this name to download."""

    @property
    def family(self) -> str:
        """The first word of the name: tasks of one family have layouts of one kind."""
        return self.name.partition("-")[0]

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

_POINT = layouts.pointmaze_layout()
_ANT = layouts.antmaze_layout()
_HUMANOID = layouts.humanoidmaze_layout()
_SOCCER = layouts.antsoccer_layout()

# Environment, layout, steps of an evaluation episode, and H_max by data set. H_max is the paper's
# for its eight tasks; elsewhere it is as long as an episode of the data or of evaluation, whichever
# is shorter.
_OGBENCH: tuple[tuple[str, StateLayout, int, Mapping[str, int]], ...] = (
    ("cube-single", layouts.cube_layout(1), 200, {"play": 200, "noisy": 200}),
    ("cube-double", layouts.cube_layout(2), 500, {"play": 500, "noisy": 500}),
    ("cube-triple", layouts.cube_layout(3), 1000, {"play": 1000, "noisy": 1000}),
    ("cube-quadruple", layouts.cube_layout(4), 1000, {"play": 1000, "noisy": 1000}),
    ("cube-octuple", layouts.cube_layout(8), 1500, {"play": 1000, "noisy": 1000}),
    ("scene", layouts.scene_layout(), 750, {"play": 1000, "noisy": 750}),
    ("puzzle-3x3", layouts.puzzle_layout(3, 3), 500, {"play": 500, "noisy": 500}),
    ("puzzle-4x4", layouts.puzzle_layout(4, 4), 500, {"play": 500, "noisy": 500}),
    ("puzzle-4x5", layouts.puzzle_layout(4, 5), 1000, {"play": 1000, "noisy": 1000}),
    ("puzzle-4x6", layouts.puzzle_layout(4, 6), 1000, {"play": 1000, "noisy": 1000}),
    ("pointmaze-medium", _POINT, 1000, {"navigate": 500, "stitch": 200}),
    ("pointmaze-large", _POINT, 1000, {"navigate": 1000, "stitch": 200}),
    ("pointmaze-giant", _POINT, 1000, {"navigate": 1000, "stitch": 200}),
    ("pointmaze-teleport", _POINT, 1000, {"navigate": 1000, "stitch": 200}),
    ("antmaze-medium", _ANT, 1000, {"navigate": 1000, "stitch": 200, "explore": 500}),
    ("antmaze-large", _ANT, 1000, {"navigate": 1000, "stitch": 200, "explore": 500}),
    ("antmaze-giant", _ANT, 1000, {"navigate": 1000, "stitch": 200, "explore": 500}),
    ("antmaze-teleport", _ANT, 1000, {"navigate": 1000, "stitch": 200, "explore": 500}),
    ("humanoidmaze-medium", _HUMANOID, 2000, {"navigate": 2000, "stitch": 400}),
    ("humanoidmaze-large", _HUMANOID, 2000, {"navigate": 2000, "stitch": 400}),
    ("humanoidmaze-giant", _HUMANOID, 4000, {"navigate": 4000, "stitch": 400}),
    # OGBench also registers `humanoidmaze-teleport-v0`, but its model lacks a material and cannot
    # be built; there is no data for it either.
    ("antsoccer-arena", _SOCCER, 1000, {"navigate": 1000, "stitch": 200}),
    ("antsoccer-medium", _SOCCER, 1000, {"navigate": 1000, "stitch": 500}),
)

# Environments for which OGBench has no data set of this kind and size.
_UNPUBLISHED = (
    "cube-octuple-play-v0",
    "cube-octuple-noisy-v0",
    "antmaze-giant-explore-v0",
)

for _name, _layout, _horizon, _data in _OGBENCH:
    for _kind, _relabel_horizon in _data.items():
        _task = f"{_name}-{_kind}-v0"
        TASKS.add(
            _task,
            Task(
                _task,
                f"{_name}-v0",
                _layout,
                _horizon,
                _relabel_horizon,
                published=_task not in _UNPUBLISHED,
            ),
        )
for _blocks, _name in ((1, "single"), (2, "double")):
    _task = f"tabletop-{_name}-v0"
    TASKS.add(
        _task,
        Task(
            _task,
            f"goalsets/Tabletop{_name.capitalize()}-v0",
            tabletop_layout(_blocks),
            100 * _blocks,
            60 * _blocks,
            published=False,
        ),
    )
