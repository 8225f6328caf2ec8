"""Collects a data set: checks what exists, collects the missing episodes, writes the files."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalsets.collect.episode import SPLITS, Split, make_collector
from goalsets.collect.errors import CollectError, CollectStopped
from goalsets.collect.experts import expert_path
from goalsets.collect.files import explained, join, write_in_one_step, write_json
from goalsets.collect.plan import Plan, differences, versions
from goalsets.collect.progress import CollectingWatch, Silence
from goalsets.collect.recipes import Recipe, recipe_for
from goalsets.collect.shards import Shards, read_about, read_plan, remove_leftovers
from goalsets.core.extras import check_installed
from goalsets.crew import Crew
from goalsets.data.paths import data_dir
from goalsets.workers import available_cores


@dataclass(frozen=True)
class Collection:
    """A data set on disk, named as OGBench names its files."""

    train: Path
    validation: Path
    about: Path
    """A JSON file that describes the data and its origin."""
    collected: int = 0
    """Episodes that the call collected; the others existed before."""

    @classmethod
    def at(cls, directory: Path, task: str) -> Collection:
        """The files of a data set in a directory, whether they exist or not."""
        return cls(
            directory / f"{task}.npz", directory / f"{task}-val.npz", directory / f"{task}.json"
        )

    def path(self, split: Split) -> Path:
        """The file of a split."""
        return self.train if split == "train" else self.validation

    def content(self) -> dict[str, Any]:
        """The content of the description."""
        return read_about(self.about)


def collect(
    task: str,
    *,
    episodes: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    output: Path | None = None,
    force: bool = False,
    recipe: Recipe | None = None,
    watch: CollectingWatch | None = None,
) -> Collection:
    """Collect a data set, or continue an earlier call for the same data set that was stopped.

    The same seed gives the same bytes, for any number of workers and interruptions. If the data set
    exists with fewer episodes, only the missing ones are collected.

    Args:
        task: A data set's name; `RECIPES` lists those that can be collected.
        episodes: Training episodes; by default as many as in OGBench's data set. In addition, a
            tenth as many, but at least one, are collected for validation.
        seed: The seed of all random numbers.
        workers: Processes; by default one for each available core.
        output: The directory; by default `data_dir()`.
        force: Replace an existing data set, or an unfinished collection, that differs.
        recipe: A recipe to use instead of the data set's own.
        watch: Receives the progress.
    """
    recipe = recipe or recipe_for(task)
    train = recipe.episodes if episodes is None else episodes
    workers = available_cores() if workers is None else workers
    for name, value, least in (("episodes", train, 1), ("workers", workers, 1), ("seed", seed, 0)):
        if value < least:
            raise CollectError(f"{name} must be {least} or more, got {value}.")
    if recipe.expert is not None:
        expert_path(recipe.expert)  # raises an error if the expert is missing
    plan = Plan(task, recipe, seed, train, max(1, train // 10))
    files = Collection.at((output or data_dir()).expanduser(), task)
    work = files.train.with_name(f"{task}.collecting")
    if not force and _is_finished(files, plan, work):
        # An earlier call may have been killed after its last file, before it removed its shards.
        # But if they belong to a larger collection, they are kept.
        there = read_plan(work)
        if there is None or not differences(there, plan.identity()):
            remove_leftovers(work)
        return files
    check_installed("ogbench", "collecting data")
    with Shards(work, plan, force=force) as shards:
        if not force and files.about.exists() and plan.continues(files.content()):
            for split, count in files.content()["episodes"].items():
                shards.take_in(split, files.path(split), count)
        before = shards.finished
        try:
            _fill(shards, workers, watch or Silence())
            _publish(shards, files)
        except KeyboardInterrupt:
            raise CollectStopped(
                f"stopped: {shards.finished} of {len(plan)} episodes are kept in {work}. "
                "Run the same command again to continue."
            ) from None
    return Collection(files.train, files.validation, files.about, len(plan) - before)


def _is_finished(files: Collection, plan: Plan, work: Path) -> bool:
    """Whether the data set is complete; a different one in its place is an error."""
    if files.about.exists():
        found = differences(files.content(), plan.identity())
        missing = [path.name for path in (files.train, files.validation) if not path.exists()]
        if not (found or missing):
            return True
        if plan.continues(files.content()) and not missing:
            return False
        if found:  # also say that versions differ: then the data set cannot grow
            found = differences(files.content(), {**plan.identity(), "versions": versions()})
        what = f"differs: {'; '.join(found)}" if found else f"lacks {' and '.join(missing)}"
    elif files.train.exists() or files.validation.exists():
        what = f"has no {files.about.name} beside it: it was downloaded, or is not complete"
    else:
        return False
    # An earlier call for this data set may have been killed between its first and its last file.
    there = read_plan(work)
    if there is not None and not differences(there, plan.identity()):
        return False
    raise CollectError(
        f"the data set in {files.train} {what}. Use --force to replace it, or another --output."
    )


def _fill(shards: Shards, workers: int, watch: CollectingWatch) -> None:
    """Collect the missing episodes."""
    plan = shards.plan
    watch.begin(shards.finished, len(plan))
    crew = Crew(make_collector, (plan.recipe, plan.seed), workers, watch.say, "collected")
    episodes = crew.answer(plan.jobs(shards.done))
    try:
        for job, rows in episodes:
            shards.add(job, rows)
            watch.episode(len(rows["terminals"]))
    finally:
        episodes.close()
        shards.flush()


def _publish(shards: Shards, files: Collection) -> None:
    """Write the final files; the description comes last."""
    temporary = shards.directory / "whole.tmp"
    # The description of an older data set must not stand beside a file of the new one.
    files.about.unlink(missing_ok=True)
    steps: dict[str, int] = {}
    for split in SPLITS:
        write = functools.partial(join, shards.paths(split))
        steps[split] = write_in_one_step(files.path(split), write, temporary)
    about = {
        "origin": "collected",
        **shards.plan.identity(),
        "steps": steps,
        "versions": versions(),
    }
    write_json(files.about, about, temporary)
    with explained(shards.directory):
        shards.remove()
