"""The plan of a collection: it identifies the data set, so that a collection can be continued."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import goalsets
from goalsets.collect.episode import SPLITS, Job, Split
from goalsets.collect.errors import CollectError
from goalsets.collect.experts import expert_fingerprint
from goalsets.collect.recipes import Recipe
from goalsets.core import door


@dataclass(frozen=True)
class Plan:
    """A data set to collect."""

    task: str
    recipe: Recipe
    seed: int
    train: int
    """Training episodes."""
    validation: int
    """Validation episodes."""

    def __len__(self) -> int:
        """Return the number of episodes."""
        return self.train + self.validation

    def jobs(self, done: Mapping[Split, int]) -> Iterator[Job]:
        """The episodes that are left to collect, given the number of finished ones."""
        for split in SPLITS:
            count = self.train if split == "train" else self.validation
            yield from (Job(split, index) for index in range(done[split], count))

    def continues(self, there: Mapping[str, Any]) -> bool:
        """Whether an existing collection is this one with as many or fewer episodes."""
        asked = {**self.identity(), "versions": versions()}
        episodes = asked.pop("episodes")
        counts = there.get("episodes", {})
        fewer = all(counts.get(split, math.inf) <= count for split, count in episodes.items())
        return fewer and not differences(there, asked)

    def identity(self) -> dict[str, Any]:
        """Everything that determines the data, as plain JSON data."""
        recipe = dataclasses.asdict(self.recipe)
        del recipe["episodes"]  # This is OGBench's number; ours is below.
        plain = {
            "task": self.task,
            "seed": self.seed,
            "episodes": {"train": self.train, "validation": self.validation},
            "recipe": recipe,
        }
        if self.recipe.expert is not None:
            plain["expert"] = expert_fingerprint(self.recipe.expert)
        return door.parse_json(json.dumps(plain), "the plan")


def versions() -> dict[str, str]:
    """The versions of the packages that the numbers depend on."""
    found = {"goalsets": goalsets.__version__}
    for name in ("ogbench", "mujoco", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise CollectError(
                f"collecting needs {name}, which is not installed here. Install goalsets[sim] "
                "under Python 3.12 or earlier: it includes OGBench and MuJoCo."
            ) from None
    return found


def differences(there: Mapping[str, Any], asked: Mapping[str, Any], path: str = "") -> list[str]:
    """Sentences about the entries of `asked` that have another value in `there`."""
    found: list[str] = []
    for name, value in asked.items():
        other = there.get(name)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            found += differences(other, value, f"{path}{name}.")
        elif other != value:
            found.append(f"{path}{name} is {other}, not {value}")
    return found
