"""Settings that measurements chose for OGBench's tasks: see docs/direct.md and docs/design/0008.

They were chosen with GCBC at the preset `hour`, with seed 0 and episodes that no table reports.
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Any

from goalsets.envs.task import Tuned

_OBJECTS_SEEN = {"inputs": "relational"}
"""These tasks were measured before the inputs `focused`, and not again."""
_ONE_WINDOW = {**_OBJECTS_SEEN, "direct_robot": None, "settings": {"discount": 0.97}}
"""One window for all questions; near goals count a little more."""
_IN_A_MAZE = {**_OBJECTS_SEEN, "precision": "float32", "settings": {"discount": 0.97}}
"""A chain asks for the next place on a road, so goals need not be far ahead. A maze has no objects,
so `focused` gives the same inputs."""
_ANT = {"horizon": 60, "weight_decay": 0.5, **_IN_A_MAZE}

_HOUR: tuple[tuple[str, dict[str, Any]], ...] = (
    ("cube-single-play-*", {"steps": 8_000, "settings": {"discount": 0.97}}),
    ("cube-double-play-*", {"steps": 12_000}),
    # With many cubes the hand must let go before the next question: hence goals after the arrival.
    ("cube-triple-play-*", {"linger": 20, **_ONE_WINDOW}),
    ("cube-quadruple-play-*", {"linger": 20, **_ONE_WINDOW}),
    # Without goals after the arrival, the hand does not let go of the first cube.
    ("cube-double-noisy-*", {"linger": 20, **_ONE_WINDOW}),
    ("scene-play-*", _ONE_WINDOW),
    ("puzzle-*-play-*", {"steps": 8_000, "precision": "float32", **_ONE_WINDOW}),
    ("pointmaze-*-navigate-*", {"steps": 3_000, "horizon": 50, **_IN_A_MAZE}),
    ("antmaze-medium-navigate-*", {"steps": 6_000, **_ANT}),
    ("antmaze-*-navigate-*", {"steps": 12_000, **_ANT}),
)
"""By a pattern of the task's name; the first that fits counts."""


def tuned_for(task: str) -> Tuned:
    """The settings for a task of OGBench; empty if none were measured."""
    for pattern, fields in _HOUR:
        if fnmatch(task, pattern):
            return {"hour": {"gcbc": fields}}
    return {}
