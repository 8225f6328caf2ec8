"""What collecting data takes: `python -m goalsets.campaign.collecting`.

Collects a few episodes of each task of the grids in results/hour, keeps none of them, and writes
the processor time that an episode took to results/hour/collecting.csv. The tables of chains count
it in their minutes: processor time, so that other work on the machine does not show in it.
"""

from __future__ import annotations

import argparse
import csv
import functools
import time
from pathlib import Path

from goalsets.collect import recipe_for
from goalsets.collect.episode import Job, make_collector

FILE = Path("results/hour/collecting.csv")
_SEED = 1_000_000
"""Of episodes that no data set has."""


def main() -> None:
    """Measure the tasks that have records but no row yet, or all of them, and write the rows."""
    parser = argparse.ArgumentParser(
        description="Measure what collecting data takes: the tasks without a row in the file."
    )
    parser.add_argument("--episodes", type=int, default=3, help="episodes of each task")
    parser.add_argument("--all", action="store_true", help="measure every task again")
    asked = parser.parse_args()
    rows = {} if asked.all else measured()
    for task in sorted(path.name for path in (FILE.parent / "runs").iterdir()):
        if task not in rows:
            rows[task] = seconds_an_episode(task, asked.episodes)
            print(f"{task}: {rows[task]:.2f} seconds an episode", flush=True)
    with FILE.open("w", encoding="utf-8", newline="") as file:
        found = [(task, f"{seconds:.2f}") for task, seconds in sorted(rows.items())]
        csv.writer(file, lineterminator="\n").writerows([("task", "seconds_an_episode"), *found])


def seconds_an_episode(task: str, episodes: int) -> float:
    """Processor time of one episode, the mean over some, without the start."""
    collect = make_collector(recipe_for(task), _SEED)
    collect(Job("train", 0))
    start = time.process_time()
    for index in range(episodes):
        collect(Job("train", index + 1))
    return (time.process_time() - start) / episodes


@functools.cache
def measured(file: Path = FILE) -> dict[str, float]:
    """Seconds an episode by task, as far as they were measured."""
    with file.open(encoding="utf-8") as lines:
        return {row["task"]: float(row["seconds_an_episode"]) for row in csv.DictReader(lines)}


if __name__ == "__main__":
    main()
