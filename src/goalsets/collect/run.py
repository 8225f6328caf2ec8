"""Collecting a data set, from the first look at what is there to the finished files."""

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
    """Where the data comes from, as JSON."""
    collected: int = 0
    """Episodes collected by the call that returned this; the others were there before."""

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
        """What is known about the data."""
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
    """Collect a data set, or continue where an earlier call for the same one was stopped.

    The same seed gives the same bytes, whatever the number of workers and of interruptions. A data
    set that is there with fewer episodes grows: only those that are missing are collected.

    Args:
        task: A data set's name; `RECIPES` has those that can be collected.
        episodes: Training episodes; as many as OGBench has unless given. A tenth as many are
            collected for validation, at least one.
        seed: Decides everything random.
        workers: Processes; one for each processor that we may use unless given.
        output: A directory; `data_dir()` unless given.
        force: Replace a data set, or an unfinished one, that differs.
        recipe: In place of the data set's own, for something of a similar kind.
        watch: Told how it gets on.
    """
    recipe = recipe or recipe_for(task)
    train = recipe.episodes if episodes is None else episodes
    workers = available_cores() if workers is None else workers
    for name, value, least in (("episodes", train, 1), ("workers", workers, 1), ("seed", seed, 0)):
        if value < least:
            raise CollectError(f"{name} must be {least} or more, got {value}.")
    if recipe.expert is not None:
        expert_path(recipe.expert)  # Without it there is nothing to begin with.
    plan = Plan(task, recipe, seed, train, max(1, train // 10))
    files = Collection.at((output or data_dir()).expanduser(), task)
    work = files.train.with_name(f"{task}.collecting")
    if not force and _is_finished(files, plan, work):
        # A kill may have come after the last file was in its place; a larger one may be under way.
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
    """Whether the data set is there; another one in its place is an error."""
    if files.about.exists():
        found = differences(files.content(), plan.identity())
        missing = [path.name for path in (files.train, files.validation) if not path.exists()]
        if not (found or missing):
            return True
        if plan.continues(files.content()) and not missing:
            return False
        if found:  # with other versions it cannot even grow
            found = differences(files.content(), {**plan.identity(), "versions": versions()})
        what = f"differs: {'; '.join(found)}" if found else f"lacks {' and '.join(missing)}"
    elif files.train.exists() or files.validation.exists():
        what = f"has no {files.about.name} beside it: it was downloaded, or not completed"
    else:
        return False
    # A kill may have come between the first and the last file of this very data set.
    there = read_plan(work)
    if there is not None and not differences(there, plan.identity()):
        return False
    raise CollectError(
        f"the data set in {files.train} {what}. Use --force to replace it, or another --output."
    )


def _fill(shards: Shards, workers: int, watch: CollectingWatch) -> None:
    """Collect the episodes that are not there yet."""
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
    """Put the files in their places; the one that says what they are comes last."""
    temporary = shards.directory / "whole.tmp"
    # What a data set in their place says of itself must not stand beside a file of this one.
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
