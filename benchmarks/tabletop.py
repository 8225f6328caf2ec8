"""Make data on the tabletop, on one core."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.line import Line, one_core, rate
from goalsets.envs.tabletop import TabletopWorld, record_play


def lines() -> Iterator[Line]:
    """Yield the lines."""
    episodes, length = 1024, 200
    with one_core():
        for blocks in (1, 2):
            made = rate(lambda b=blocks: len(record_play(episodes, length, b)) * length)
            name = f"tabletop, {blocks} block{'s' * (blocks > 1)}: scripted data"
            yield Line(name, made / 1e3, "thousand/s", 200.0)
        rng = np.random.default_rng(0)
        world = TabletopWorld(4096, 1, rng)
        actions = rng.uniform(-1, 1, (4096, 5)).astype(np.float32)
        stepped = rate(lambda: len(world.step(actions)))
        yield Line("tabletop, 1 block: bare steps", stepped / 1e3, "thousand/s")
