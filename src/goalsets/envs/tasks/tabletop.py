"""The tasks of the tabletop, for tests and teaching: data and training take less than a minute."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goalsets.core import Episode
from goalsets.envs.landscape import Plane, Terrain
from goalsets.envs.tabletop import ENV_IDS, HORIZONS, collect, official_tasks, tabletop_layout
from goalsets.envs.tabletop.adapter import TabletopAdapter, table_planes
from goalsets.envs.tabletop.states import WORKSPACE
from goalsets.envs.task import TASKS, Scene, Script, Task

_LOW, _HIGH = (tuple(float(v) for v in row) for row in WORKSPACE)
_SCENE = Scene(bounds=(_LOW, _HIGH))

_SMALL: Mapping[str, Any] = {
    "steps": 1_500,
    "batch_size": 512,
    "hidden": 128,
    "learning_rate": 2e-3,
    "clip_apart": True,
    "settings": {},
}
"""Small networks learn the table in less than a minute."""

_LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "gcivl": {"settings": {"initial_value": -30.0, "witness": True, "alpha": 0.3}},
    # These two have the dearest step: with batches of 512 a training takes a minute or more.
    "gciql": {
        "batch_size": 256,
        "settings": {"initial_value": -30.0, "witness": True, "alpha": 3.0},
    },
    "gcdl": {"settings": {"initial_value": -0.6, "witness": True, "alpha": 0.1}},
    "crl": {"batch_size": 256, "settings": {"alpha": 3.0}},
}


@dataclass(frozen=True)
class TableTask(Task):
    """A table with one or two blocks."""

    num_blocks: int = 1

    def preset(self, name: str, learner: str) -> Mapping[str, Any]:
        """Small networks on a processor; what the paper describes stays as it is."""
        return {**_SMALL, **_LEARNERS.get(learner, {})} if name == "cpu" else {}

    @property
    def script(self) -> Script | None:
        """The scripted player fills a data set in seconds."""

        def play(episodes: int, seed: int) -> Sequence[Episode]:
            recording = collect(episodes, 200, num_blocks=self.num_blocks, seed=seed)
            return list(recording.episodes())

        return Script(
            f"{self.name}, scripted play",
            functools.partial(play, 2_000, 0),
            functools.partial(play, 200, 1),
        )

    @property
    def terrain(self) -> Terrain | None:
        """The block or the gripper is moved, and all else stays as it is."""
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
            goals=tuple(task.name for task in official_tasks(_blocks)),
            adapter=TabletopAdapter,
            domain="Tabletop",
            scene=_SCENE,
            num_blocks=_blocks,
        ),
    )
