"""The records of a run directory: a line for each evaluation, and the data it was trained on.

Fields that are not named here are kept unchanged. A record of an unknown kind, which a plugin may
write, needs only its kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from goalsets.core import GoalsetsError, door
from goalsets.core.door.fit import Count, Whole

DATA, EVALUATIONS = "data.json", "evaluations.jsonl"

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True)
class _Episode:
    task_id: Whole
    seed: Whole
    success: bool
    steps: Whole | None = None


@dataclass(frozen=True)
class _Answer:
    query: str | None = None
    not_asked: str | None = None
    success: Share | None = None
    num_episodes: Count | None = None
    interval: tuple[float, float] | None = None
    episodes: list[_Episode] | None = None


@dataclass(frozen=True)
class _Record:
    kind: str
    step: Count | None = None
    training_seconds: float | None = None
    processor_seconds: float | None = None
    plan: bool = False
    task: str | None = None


@dataclass(frozen=True)
class _Official(_Record):
    success: Share | None = None
    num_episodes: Count | None = None
    interval: tuple[float, float] | None = None
    by_goal: dict[str, Share] | None = None
    episodes: list[_Episode] | None = None


@dataclass(frozen=True)
class _Suite(_Record):
    suite: str | None = None
    digest: str | None = None
    by_predicate: dict[str, _Answer] | None = None


@dataclass(frozen=True)
class _Rollout:
    digest: str
    task_id: Whole
    seed: Whole
    steps: Count
    by: str


@dataclass(frozen=True)
class _Curve:
    query: str | None
    distances: list[float]


@dataclass(frozen=True)
class _Distance(_Record):
    rollout: _Rollout | None = None
    curves: list[_Curve] | None = None


_KINDS: Mapping[str, type[_Record]] = {
    "official": _Official,
    "suite": _Suite,
    "distance": _Distance,
}
_NEEDED = {
    "official": ("step", "success", "num_episodes"),
    "suite": ("step", "digest", "by_predicate"),
    "distance": ("step", "rollout", "curves"),
}


def read_evaluations(run: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """All readable records of a run directory, and the numbers of the damaged lines."""
    path = run / EVALUATIONS
    records: list[dict[str, Any]] = []
    damaged: list[int] = []
    if not path.exists():
        return records, damaged
    for number, plain in enumerate(door.read_json_lines(path), start=1):
        if is_record(plain):
            records.append(plain)
        else:
            damaged.append(number)
    return records, damaged


def is_record(plain: Any) -> bool:  # noqa: ANN401 - whatever a line holds
    """Whether a line holds a record of an evaluation."""
    if not isinstance(plain, dict) or not isinstance(plain.get("kind"), str):
        return False
    try:
        door.fit(plain, _KINDS.get(plain["kind"], _Record), EVALUATIONS)
    except GoalsetsError:
        return False
    return all(plain.get(name) is not None for name in _NEEDED.get(plain["kind"], ()))


@dataclass(frozen=True)
class _Data:
    """The content of `data.json`; that of older runs may lack fields."""

    fingerprint: str
    source: str = ""
    episodes: Count | None = None
    transitions: Count | None = None


def read_data(path: Path) -> dict[str, Any]:
    """Read the description of the data that a run was trained on."""
    plain = door.read_json(path)
    door.fit(plain, _Data, str(path))
    return plain
