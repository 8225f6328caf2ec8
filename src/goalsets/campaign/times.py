"""How long runs of the campaign will take, by what the records say of runs like them."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalsets.campaign.collecting import measured
from goalsets.collect.find import find_store_if_any
from goalsets.core import door
from goalsets.envs.tasks import TASKS
from goalsets.runs.config import TrainConfig
from goalsets.runs.records import read_evaluations
from goalsets.runs.run import CONFIG, is_planned
from goalsets.sweep.grid import Job, Sweep

VALIDATION = 0.1
"""Episodes that are collected for validation, as a share of those for training."""
_UNKNOWN_EPISODE = 2.0
"""Seconds that collecting an episode takes where it was never measured; an arm takes about that."""

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Times:
    """Hours of one core."""

    collecting: float
    training: float
    asking: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.collecting + self.training + self.asking

    def __add__(self, other: Times) -> Times:
        """The sum of each."""
        return Times(
            self.collecting + other.collecting,
            self.training + other.training,
            self.asking + other.asking,
        )


NONE = Times(0.0, 0.0, 0.0)


class Estimates:
    """What runs are likely to take.

    Training is scaled by steps and batch from runs of the same learner, at the same precision if
    there are any. Asking is that of runs of the same task, else of all runs; official goals count
    by the episode.

    Args:
        places: Directories with records of runs.
    """

    def __init__(self, places: Iterable[Path]) -> None:
        self._training: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._asking: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
        for config_file in (
            file for place in places for file in sorted(place.glob(f"*/*/{CONFIG}"))
        ):
            config = door.read_json(config_file)
            for record in read_evaluations(config_file.parent)[0]:
                self._note(config, record, str(config_file.parent))

    def _note(self, config: Record, record: Record, run: str) -> None:
        seconds = record.get("processor_seconds", record.get("training_seconds"))
        if seconds and record.get("step"):
            samples = record["step"] * config["batch_size"]
            precision = config.get("precision", "float32")
            for key in ((config["learner"], precision), (config["learner"],), ()):
                self._training[key].append(seconds / samples)
        if record.get("evaluation_seconds") and record.get("step") == config["steps"]:
            kind = (record["kind"], str(is_planned(record)))
            official = record["kind"] == "official"
            seconds = record["evaluation_seconds"] / (record["num_episodes"] if official else 1)
            for key in ((config["task"], *kind), kind):
                found = self._asking[key]
                # A run may have several suites; of its official records the newest counts.
                found[run] = seconds + (0.0 if official else found.get(run, 0.0))

    def of(self, jobs: Sequence[tuple[Sweep, Job]]) -> Times:
        """What the runs will take, with the data that they miss."""
        total = sum((self._of_run(sweep, job) for sweep, job in jobs), NONE)
        episodes = {
            job.config.task: sweep.data.episodes or 0
            for sweep, job in jobs
            if find_store_if_any(job.config.task) is None
        }
        seconds = measured()
        collecting = sum(
            count * (1 + VALIDATION) * seconds.get(task, _UNKNOWN_EPISODE)
            for task, count in episodes.items()
        )
        return total + Times(collecting / 3600, 0.0, 0.0)

    def _of_run(self, sweep: Sweep, job: Job) -> Times:
        config = job.config
        asking = sum(
            self._asked(config, kind, planned) * times
            for kind, planned, times in _kinds(sweep, config)
        )
        keys = ((config.learner, config.precision), (config.learner,), ())
        known = next((self._training[key] for key in keys if key in self._training), [0.0])
        training = statistics.median(known) * config.steps * config.batch_size
        return Times(0.0, training / 3600, asking / 3600)

    def _asked(self, config: TrainConfig, kind: str, planned: str) -> float:
        """Seconds of an official episode, or of a suite."""
        keys = ((config.task, kind, planned), (kind, planned))
        found = next((self._asking[key] for key in keys if key in self._asking), {"": 0.0})
        return statistics.median(found.values())


def _kinds(sweep: Sweep, config: TrainConfig) -> Iterable[tuple[str, str, int]]:
    """The kinds of records that a grid wants of a run, and how many official episodes or suites."""
    wanted = sweep.evaluation
    if wanted.episodes:
        episodes = wanted.last * wanted.episodes * len(TASKS[config.task].goals)
        yield "official", str(False), episodes
        if wanted.plan:
            yield "official", str(True), episodes
    for choice in sweep.suites:
        if choice.is_asked(config):
            yield "suite", str(False), 1
            if choice.plan:
                yield "suite", str(True), 1
