"""Small collections of a point maze, for the tests that collect."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from goalsets.collect import RECIPES, Collection, collect
from goalsets.collect.progress import Silence

MAZE = "pointmaze-medium-navigate-v0"
SHORT = replace(RECIPES[MAZE], length=50)


class Notes(Silence):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.finished = self.total = self.episodes = 0
        self.said: list[str] = []

    def begin(self, finished: int, total: int) -> None:
        self.finished, self.total = finished, total

    def episode(self, steps: int) -> None:
        self.episodes += 1

    def say(self, text: str) -> None:
        self.said.append(text)


def small(output: Path, **options: Any) -> Collection:
    return collect(MAZE, output=output, **{"episodes": 4, "recipe": SHORT, "workers": 1, **options})


def contents(collection: Collection) -> tuple[bytes, ...]:
    return tuple(
        path.read_bytes() for path in (collection.train, collection.validation, collection.about)
    )
