"""A sweep: a grid of configurations, and a name for each that only the configuration decides."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any, Literal

from goalsets.core import GoalsetsError
from goalsets.core.errors import suggest
from goalsets.envs.tasks import TASKS
from goalsets.learners import DEFAULT, LEARNERS
from goalsets.relabel.queries import DEFAULT_SCHEME, SCHEMES
from goalsets.runs.config import TrainConfig
from goalsets.runs.presets import PRESETS, resolve
from goalsets.train.session import Pace

AXES = ("task", "learner", "scheme", "seed")
"""Fields of a configuration that the grid itself decides."""
LATER = {
    "direct": None,
    "direct_robot": None,
    "inputs": "plain",
    "precision": "float32",
    "linger": 0,
    "settled": 0,
    "action_low": None,
    "action_high": None,
    "action_switches": None,
}
"""Fields that were added later, with the value that older runs had. With this value, a field is not
part of a run's name, so that older runs are still found."""
OVERRIDABLE = tuple(f.name for f in dataclasses.fields(TrainConfig) if f.name not in AXES)


class SweepError(GoalsetsError):
    """A sweep cannot be read, started or continued; the message says why."""


@dataclass(frozen=True)
class Evaluation:
    """The evaluation after a training, on the official goals of its task."""

    episodes: int = 10
    """Episodes for each official goal; 0 leaves the evaluation out."""
    last: int = 1
    """How many of the last kept weights are evaluated."""
    plan: bool = False
    """Evaluate them with chains of questions, too."""


@dataclass(frozen=True)
class SuiteChoice:
    """A suite that runs of the sweep are asked."""

    description: str = "shipped"
    """`shipped` for the one that comes with goalsets, or a YAML file that describes one."""
    episodes: int | None = None
    """Episodes of each predicate from each start; by default as the description says."""
    schemes: tuple[str, ...] = ()
    """The schemes whose runs are asked; by default all."""
    plan: bool = False
    """Ask each question a second time, as a chain of questions."""

    def __post_init__(self) -> None:
        """Check the names."""
        for scheme in self.schemes:
            SCHEMES[scheme]

    def is_asked(self, config: TrainConfig) -> bool:
        """Whether a run is asked this suite."""
        return not self.schemes or config.scheme in self.schemes


@dataclass(frozen=True)
class DataChoice:
    """How to get data that is missing."""

    make: Literal["never", "collect", "download"] = "never"
    """Collect it with OGBench's oracles, download it, or stop with an error."""
    episodes: int | None = None
    """Training episodes to collect; by default as many as OGBench has."""


@dataclass(frozen=True)
class Job:
    """One run of a sweep."""

    config: TrainConfig

    @property
    def name(self) -> str:
        """Its directory among the runs: `TASK/LEARNER-SCHEME-DIGEST-sSEED`.

        The digest covers the whole configuration except the seed. So equal configurations have
        equal names in all sweeps and presets. If a preset changes, so do the names.
        """
        return f"{self.group}-s{self.config.seed}"

    @property
    def group(self) -> str:
        """The common part of the names of runs that differ only in their seed."""
        plain = dataclasses.asdict(self.config)
        del plain["seed"]
        for name, before in LATER.items():
            if plain[name] == before:
                del plain[name]
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
        digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
        return f"{self.config.task}/{self.config.learner}-{self.config.scheme}-{digest}"

    def fits(self, patterns: Sequence[str]) -> bool:
        """Whether the name matches a pattern, such as `*gciql*`; true if there are none."""
        return not patterns or any(fnmatch(self.name, pattern) for pattern in patterns)

    def __str__(self) -> str:
        """The run's name."""
        return f"run {self.name}"


@dataclass(frozen=True)
class Sweep:
    """A grid: tasks × learners × schemes × overrides × seeds, and what is done with each run."""

    name: str
    tasks: tuple[str, ...]
    learners: tuple[str, ...] = (DEFAULT,)
    schemes: tuple[str, ...] = (DEFAULT_SCHEME,)
    seeds: tuple[int, ...] = (0,)
    overrides: tuple[Mapping[str, Any], ...] = ({},)
    """Each entry is one point of an axis: fields that replace those of the preset, and under
    `settings` those of the learners. A setting applies to the learners that have it."""
    preset: str = "cpu"
    """The preset: the budget, and every field that is not overridden."""
    description: str = ""
    evaluation: Evaluation = field(default_factory=Evaluation)
    suites: tuple[SuiteChoice, ...] = ()
    pace: Pace = field(default_factory=Pace)
    data: DataChoice = field(default_factory=DataChoice)

    def __post_init__(self) -> None:
        """Check every name on every axis, so that mistakes are found before hours of training."""
        for axis, values in (
            ("tasks", self.tasks),
            ("learners", self.learners),
            ("schemes", self.schemes),
            ("seeds", self.seeds),
            ("overrides", self.overrides),
        ):
            if not values:
                raise SweepError(f"{axis!r} is empty: the sweep would have no run.")
        for task in self.tasks:
            TASKS[task]
        for scheme in self.schemes:
            SCHEMES[scheme]
        PRESETS[self.preset]
        settings = {name for learner in self.learners for name in _settings_of(learner)}
        for point in self.overrides:
            _check_keys(point, OVERRIDABLE, "'overrides'")
            _check_keys(point.get("settings", {}), sorted(settings), "'settings'")
        for name in ("log_every", "checkpoint_every"):
            if getattr(self.pace, name) < 1:
                raise SweepError(f"{name!r} of 'pace' must be 1 or more.")
        for job in self.jobs():
            self._check_kept(job.config)

    def _check_kept(self, config: TrainConfig) -> None:
        kept = len(self.pace_of(config).marks(config.steps))
        if not 1 <= self.evaluation.last <= kept:
            raise SweepError(
                f"'last' of 'evaluation' is {self.evaluation.last}, but a run of {config.steps:,} "
                f"steps keeps only {kept} weights: lower 'last', or 'keep_every' of 'pace'."
            )

    def pace_of(self, config: TrainConfig) -> Pace:
        """The pace of a run; by default it keeps weights at every quarter of its steps."""
        keep_every = self.pace.keep_every or max(1, config.steps // 4)
        return dataclasses.replace(self.pace, keep_every=keep_every)

    def jobs(self) -> tuple[Job, ...]:
        """All runs, each once, ordered by seed, so that a sweep that is stopped early is even."""
        jobs: dict[str, Job] = {}
        for seed, task, learner, scheme, point in itertools.product(
            self.seeds, self.tasks, self.learners, self.schemes, self.overrides
        ):
            own = _settings_of(learner)
            chosen = {k: v for k, v in point.get("settings", {}).items() if k in own}
            config = resolve(
                task,
                learner=learner,
                scheme=scheme,
                preset=self.preset,
                seed=seed,
                overrides={k: v for k, v in point.items() if k != "settings"},
                settings=chosen,
            )
            job = Job(config)
            jobs.setdefault(job.name, job)
        return tuple(jobs.values())


def _settings_of(learner: str) -> set[str]:
    return {f.name for f in dataclasses.fields(LEARNERS[learner].Config)}


def _check_keys(plain: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in plain:
        if key not in known:
            raise SweepError(f"{what} has an unknown key {key!r}: {suggest(str(key), known)}")
