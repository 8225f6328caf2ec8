"""Prepare a sweep before its first run: data for each task, and the suites, once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from goalsets.collect.find import find_store
from goalsets.core import door
from goalsets.data.drawing import DataPlace, choose_place
from goalsets.data.paths import data_dir
from goalsets.data.store import INDEX, Store
from goalsets.envs.tasks import TASKS
from goalsets.runs.config import TrainConfig
from goalsets.sweep.grid import DataChoice, SuiteChoice, Sweep
from goalsets.workers import available_cores, silence

if TYPE_CHECKING:
    from goalsets.sweep.work import Assignment, Place


@dataclass(frozen=True)
class Prepared:
    """The prepared data of a task."""

    data: Path
    fingerprint: str


def prepare_data(task: str, choice: DataChoice, say: Callable[[str], None] = silence) -> Prepared:
    """Find the data of a task, or get it as the sweep says."""
    path = data_dir() / task
    if not (path / INDEX).exists() and TASKS[task].script is None:
        if choice.make == "collect":
            _collect(task, choice.episodes, say)
        if choice.make in ("collect", "download"):
            _import(task, path, say)
    store = find_store(task, make=True, say=say)
    there = store.train.num_episodes
    if choice.make == "collect" and choice.episodes not in (None, there):
        # Downloaded data, or more data than asked for, is not an error, but worth a note.
        say(
            f"the existing data of {task} is used: it has {there:,} episodes, not the "
            f"{choice.episodes:,} that this sweep would collect: {path}"
        )
    return Prepared(store.path.resolve(), store.fingerprint)


def open_data(assignment: Assignment, place: Place) -> tuple[Store, DataPlace]:
    """The store for a worker, verified, and whether its data goes into memory."""
    store = Store.open(place.data(assignment.data, assignment.fingerprint), mapped=True)
    store.verify()
    # Workers begin together, before their copies reduce the free memory, so divide by all.
    runs = max(1, available_cores() // assignment.threads)
    return store, choose_place(assignment.data_in, store.train, runs=runs, say=print)


def _collect(task: str, episodes: int | None, say: Callable[[str], None]) -> None:
    from goalsets.collect import collect

    say(f"collecting data of {task}; if you stop this, the collected episodes are kept.")
    collect(task, episodes=episodes)


def _import(task: str, path: Path, say: Callable[[str], None]) -> None:
    from goalsets.data.importing import import_source
    from goalsets.data.sources import OGBench, known_layout

    source = OGBench(task)
    say(f"importing {source.describe()}")
    import_source(source, path, known_layout(source))


def suite_path(directory: Path, task: str, choice: SuiteChoice) -> Path:
    """The file of a suite of a sweep; its name depends on the choice."""
    text = choice.description
    if text != "shipped":
        text = door.read_text(text)
    digest = hashlib.blake2b(f"{choice.episodes} {text}".encode(), digest_size=4).hexdigest()
    name = re.sub(r"[^a-z0-9-]+", "-", Path(choice.description).stem.lower())
    return directory / "suites" / f"{task}-{name}-{digest}.json"


def suite_paths(
    sweep: Sweep, directory: Path, config: TrainConfig, *, planned: bool = False
) -> tuple[Path, ...]:
    """The files of a run's suites; if `planned`, only those that are asked by chains."""
    asked = [choice for choice in sweep.suites if choice.is_asked(config)]
    return tuple(
        suite_path(directory, config.task, choice) for choice in asked if choice.plan or not planned
    )


def prepare_suites(
    sweep: Sweep, directory: Path, task: str, data: Path, say: Callable[[str], None] = silence
) -> None:
    """Build the missing suites of a task."""
    from goalsets.evaluate.suites import build_suite, read_description, shipped_description
    from goalsets.evaluate.suites.build import with_episodes

    for choice in sweep.suites:
        path = suite_path(directory, task, choice)
        if path.exists():
            continue
        shipped = choice.description == "shipped"
        described = shipped_description(task) if shipped else read_description(choice.description)
        say(f"building the suite {described.name!r} for {task}")
        store = Store.open(data, mapped=True)
        suite = build_suite(task, store, with_episodes(described, choice.episodes))
        path.parent.mkdir(parents=True, exist_ok=True)
        suite.save(path)
