"""The tasks of the tabletop, for tests and teaching: data and training take less than a minute."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from goalsets.core import Episode
from goalsets.envs.landscape import Plane, Terrain
from goalsets.envs.tabletop import ENV_IDS, HORIZONS, official_tasks, record_play, tabletop_layout
from goalsets.envs.tabletop.adapter import TabletopAdapter, table_planes
from goalsets.envs.tabletop.states import WORKSPACE
from goalsets.envs.task import TASKS, Scene, Script, Task

_LOW, _HIGH = (tuple(float(v) for v in row) for row in WORKSPACE)
_SCENE = Scene(bounds=(_LOW, _HIGH))


@dataclass(frozen=True)
class TableTask(Task):
    """A table with one or two blocks."""

    num_blocks: int = 1

    @property
    def script(self) -> Script | None:
        """The data of the scripted player, which takes seconds to make."""

        def play(episodes: int, seed: int) -> Sequence[Episode]:
            recording = record_play(episodes, 200, num_blocks=self.num_blocks, seed=seed)
            return list(recording.episodes())

        return Script(
            f"{self.name}, scripted play",
            functools.partial(play, 2_000, 0),
            functools.partial(play, 200, 1),
        )

    @property
    def terrain(self) -> Terrain | None:
        """Planes in which the block or the gripper moves and everything else stays."""
        return Terrain(
            queries=("cube_pos", "ee_pos", "all"),
            caption="over where the block lies (above) or the gripper is (below), all else as at "
            "the official start.",
            planes=self._planes,
        )

    def _planes(self) -> list[Plane]:
        world = self.open()
        planes = table_planes(*world.start(1, 0))
        world.close()
        return planes


for _blocks, _name in ((1, "single"), (2, "double")):
    TASKS.add(
        f"tabletop-{_name}-v0",
        TableTask(
            name=f"tabletop-{_name}-v0",
            env_id=ENV_IDS[_blocks],
            layout=tabletop_layout(_blocks),
            horizon=HORIZONS[_blocks],
            relabel_horizon=60 * _blocks,
            motion=40,
            goals=tuple(task.name for task in official_tasks(_blocks)),
            adapter=TabletopAdapter,
            presets={"cpu": "small"},
            action_range=(-1.0, 1.0),
            domain="Tabletop",
            scene=_SCENE,
            num_blocks=_blocks,
        ),
    )
