"""Find run directories and read their records; a note names each one that cannot be read.

A report needs only a run's configuration and its records. So runs without their weights, such as
those kept with a paper, work, too. Only a landscape that was not recorded needs weights.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalsets.core import GoalsetsError
from goalsets.core.errors import FileError
from goalsets.runs.config import TrainConfig
from goalsets.runs.plugins import read_config
from goalsets.runs.records import DATA, EVALUATIONS, read_data, read_evaluations
from goalsets.runs.run import CONFIG, is_planned
from goalsets.runs.weights import CHECKPOINT
from goalsets.workers import silence


@dataclass(frozen=True)
class RunRecord:
    """The configuration and the records of a run."""

    path: Path
    config: TrainConfig
    data: Mapping[str, Any]
    """The data's fingerprint and size; empty if the run does not say."""
    evaluations: Sequence[Mapping[str, Any]]

    @property
    def task(self) -> str:
        """The task's name; for a store without a task, the name of its directory."""
        return Path(self.config.task).name

    @property
    def fingerprint(self) -> str:
        """The data's fingerprint; empty if the run does not say."""
        return str(self.data.get("fingerprint", ""))

    def records(self, kind: str, plan: bool = False) -> list[Mapping[str, Any]]:
        """The records of a kind, in the order in which they were made.

        Args:
            kind: The kind.
            plan: Whether to take records of chains of questions. They are never mixed with the
                others.
        """
        return [r for r in self.evaluations if r["kind"] == kind and is_planned(r) == plan]


@dataclass(frozen=True)
class Note:
    """A note on something that was left out, with the reason."""

    place: str
    reason: str


@dataclass(frozen=True)
class Collection:
    """The runs of a report, and what was left out of them."""

    runs: Sequence[RunRecord]
    notes: Sequence[Note]


def read_runs(places: Sequence[Path], watch: Callable[[int, int], None] = silence) -> Collection:
    """Read all runs in some directories.

    Args:
        places: Run directories, or directories that contain them at any depth.
        watch: Called with the number of runs read, and of all.
    """
    for place in places:
        if not place.is_dir():
            raise GoalsetsError(
                f"{place} is not a directory: name run directories, or one that contains them."
            )
    # A run may be named twice: itself, and by a directory around it.
    found = list({path.resolve(): path for place in places for path in _runs_in(place)}.values())
    runs: list[RunRecord] = []
    notes: list[Note] = []
    for number, path in enumerate(found, start=1):
        try:
            runs.append(_read(path, notes))
        except GoalsetsError as error:
            notes.append(Note(str(path), f"left out: {error}"))
        watch(number, len(found))
    if not runs:
        told = "".join(f"\n  {note.place}: {note.reason}" for note in notes)
        searched = ", ".join(map(str, places)) or "nowhere"
        raise GoalsetsError(
            f"found no run to report on in {searched}: a run directory has a {CONFIG}, as "
            f"'goalsets train' writes it.{told}"
        )
    return _without_repetitions(runs, notes)


def _runs_in(place: Path) -> Iterator[Path]:
    """Run directories in a directory, in order; a run directory is not searched further."""
    if any((place / name).exists() for name in (CONFIG, CHECKPOINT, EVALUATIONS)):
        yield place
        return
    for child in sorted(child for child in place.iterdir() if child.is_dir()):
        if not child.is_symlink():
            yield from _runs_in(child)


def _read(path: Path, notes: list[Note]) -> RunRecord:
    if not (path / CONFIG).exists():
        raise GoalsetsError(f"it has no {CONFIG}, so its training is unknown.")
    try:
        config = read_config(path / CONFIG)
    except FileError as error:
        raise GoalsetsError(f"its {CONFIG} is damaged: {error}") from None
    data = _read_data(path, notes)
    records, damaged = read_evaluations(path)
    if damaged:
        lines = ", ".join(map(str, damaged))
        notes.append(
            Note(str(path), f"line {lines} of its {EVALUATIONS} is damaged; the others count.")
        )
    return RunRecord(path, config, data, tuple(records))


def _read_data(path: Path, notes: list[Note]) -> Mapping[str, Any]:
    try:
        return read_data(path / DATA)
    except GoalsetsError as error:
        notes.append(Note(str(path), f"does not say which data it was trained on ({error})"))
        return {}


def _without_repetitions(runs: Sequence[RunRecord], notes: list[Note]) -> Collection:
    """Keep one of several equal runs: a copy of a run is not another seed."""
    kept: dict[str, RunRecord] = {}
    for run in runs:
        key = json.dumps([dataclasses.asdict(run.config), run.fingerprint], sort_keys=True)
        other = kept.get(key)
        if other is None:
            kept[key] = run
            continue
        # Keep the one with more evaluations.
        ahead, behind = sorted((other, run), key=lambda r: len(r.evaluations), reverse=True)
        kept[key] = ahead
        notes.append(
            Note(
                str(behind.path),
                f"left out: the same configuration, seed and data as {ahead.path}; a copy is not "
                "another seed.",
            )
        )
    return Collection(list(kept.values()), notes)
