"""Drawing queries, and judging states, on one core."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.line import Line, one_core, rate
from goalsets import GoalSet, Query
from goalsets.core.goalset import mean_squared_distance
from goalsets.envs.layouts import cube_layout
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, Blockwise, Mixture, Semantic

BATCH = 8192


def lines() -> Iterator[Line]:
    """Yield the lines, one as soon as it is measured."""
    layout, rng = cube_layout(1), np.random.default_rng(0)
    distributions = {name: make() for name, make in QUERY_DISTRIBUTIONS.items()}
    distributions["mixture"] = Mixture([(Blockwise(), 1.0), (Semantic(), 1.0)])
    with one_core():
        for distribution in distributions.values():  # warm up: the first large arrays are slow
            distribution.sample(layout, BATCH, rng)
        for name, distribution in distributions.items():
            drawn = rate(lambda d=distribution: len(d.sample(layout, BATCH, rng)))
            yield Line(f"draw {name} queries, D=28", drawn / 1e6, "million/s", 2.0)
        states = rng.normal(size=(BATCH, layout.dim)).astype(np.float32)
        references = rng.normal(size=(BATCH, layout.dim)).astype(np.float32)
        masks = Blockwise().sample(layout, BATCH, rng)
        goals = GoalSet(references, Query.parse("cube_pose", layout))
        judged = rate(lambda: len(goals.contains(states)))
        yield Line("GoalSet.contains, cube_pose", judged / 1e6, "million/s")
        judged = rate(lambda: len(mean_squared_distance(states, references, masks)))
        yield Line("d_q, a mask for each row", judged / 1e6, "million/s")
