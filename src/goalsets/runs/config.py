"""The configuration of a run: one frozen dataclass."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_type_hints

from goalsets.condition import INPUTS, Fill
from goalsets.core import GoalsetsError, door
from goalsets.core.door.fit import Whole
from goalsets.learners import DEFAULT, LEARNERS
from goalsets.learners.settings import check_settings, types_of
from goalsets.relabel.queries import DEFAULT_SCHEME, SCHEMES

VERSION = 1
"""The version of the configuration's file. Older files have none, and lack newer fields. A missing
field gets its default, so the default of a new field must keep the old behaviour."""

_MOST = {"steps": 10**12, "batch_size": 1 << 24, "hidden": 8192, "horizon": 10**9}
"""The largest values that make sense. A larger value is a mistake, or is meant to fill memory."""


@dataclass(frozen=True)
class TrainConfig:
    """The complete configuration of a run. Equal configurations give equal runs."""

    task: str
    """The task, which gives the layout, the horizon and the official query."""
    learner: str = DEFAULT
    """The algorithm."""
    scheme: str = DEFAULT_SCHEME
    """How transitions are relabeled."""
    seed: int = 0
    """The seed of all random numbers."""
    steps: int = 200_000
    """Gradient steps."""
    batch_size: int = 8192
    """Transitions in a step."""
    learning_rate: float = 8e-4
    """The initial learning rate of AdamW."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Whether the learning rate is constant, or falls to zero along half a cosine. With `cosine`,
    the final policy of a short run depends less on the last few steps."""
    weight_decay: float = 1e-2
    """The weight decay of AdamW; by default the library's, as in the released code."""
    clip: float | None = 1.0
    """Largest gradient norm; None does not clip."""
    clip_apart: bool = False
    """Clip each network separately, so that a large gradient of one does not shrink the others."""
    hidden: int = 256
    """Width of the networks' hidden layers."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """The type of matrix products in a training step. Weights stay in float32, and a trained policy
    acts in float32. See `goalsets.train.precision`."""
    horizon: int | None = None
    """H_max: how many steps ahead a goal may be; by default the task's."""
    labels: Literal["predicate", "terms", "identity", "arrival"] = "predicate"
    """Which states count as being at a goal (see `goalsets.relabel.labels`). With `arrival`, steps
    to a goal are counted to its arrival (see `goalsets.relabel.arrivals`)."""
    epsilon: float = 0.02
    """ε of predicate labels. Arrivals use it for groups without a tolerance, and for groups of
    which only a part is active."""
    direct: int | None = None
    """An actor's goals must be reached within this many steps (see `goalsets.relabel.direct`); None
    allows any future goal."""
    direct_robot: int | None = None
    """With `direct`: the same for questions of which only the place of the hand is left, because a
    hand reaches any place quickly. Places are the groups that others are `relative_to`."""
    linger: int = 0
    """With `direct`: for this many steps after its arrival, an actor still gets the goal. So it
    learns what the data does at the goal."""
    settled: int = 0
    """With `direct`: a goal about an object must have held for this many steps at the reference, so
    that places which an object only passes are not goals. Objects are groups with a `kind`."""
    inputs: str = "plain"
    """The goal inputs of the networks: `plain` is the paper's [s̄, ḡ, q]; see
    `goalsets.condition.INPUTS`."""
    fill: Fill = "learned"
    """The fill of inactive coordinates in the goal input."""
    clamp: Literal["environment", "standardised"] = "environment"
    """Whether an actor's actions are clamped to the bounds of actions, or to ±1 in standardised
    units."""
    action_low: Sequence[float] | None = None
    """The smallest action: one number for all components, or one for each. By default the task or
    the data gives it."""
    action_high: Sequence[float] | None = None
    """The largest action, given in the same way."""
    action_switches: Sequence[int] | None = None
    """Components of actions that have two values in the data, such as a command to open a gripper;
    a policy answers only these. By default the store says which; an empty list means none."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of the learner; see its configuration."""

    def __post_init__(self) -> None:
        """Check what can be checked without data."""
        _check_types(self)
        SCHEMES[self.scheme]
        INPUTS[self.inputs]
        _check_settings(self.learner, self.settings)
        for name in ("action_low", "action_high"):
            if (told := getattr(self, name)) is not None:  # a file has lists
                object.__setattr__(self, name, tuple(float(number) for number in told))
        if self.action_switches is not None:
            object.__setattr__(self, "action_switches", tuple(sorted(set(self.action_switches))))
        self._check_ranges()

    def _check_ranges(self) -> None:
        for name, most in _MOST.items():
            value = getattr(self, name)
            if value is not None and value < 1:
                raise GoalsetsError(f"{name} must be 1 or more, got {value}.")
            if value is not None and value > most:
                raise GoalsetsError(f"{name} may be up to {most:,}, got {value:,}.")
        for name in ("epsilon", "weight_decay", "clip"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise GoalsetsError(f"{name} must be 0 or more, got {value}.")
        if not 0 < self.learning_rate < math.inf:
            raise GoalsetsError(f"learning_rate must be above 0, got {self.learning_rate}.")
        self._check_windows()

    def _check_windows(self) -> None:
        if self.direct is not None and self.direct < 1:
            raise GoalsetsError(f"direct must be 1 step or more, got {self.direct}.")
        if self.direct_robot is not None and not 1 <= self.direct_robot <= (self.direct or 0):
            raise GoalsetsError(
                f"direct_robot must be 1 step or more, and at most direct ({self.direct}), got "
                f"{self.direct_robot}."
            )
        for name in ("linger", "settled"):
            if getattr(self, name) < 0:
                raise GoalsetsError(f"{name} must be 0 steps or more, got {getattr(self, name)}.")

    def learner_config(self) -> Any:  # noqa: ANN401 - each learner has its own
        """The learner's configuration."""
        return LEARNERS[self.learner].Config(**self.settings)

    def to_json(self) -> str:
        """Text that `from_json` turns back into an equal configuration."""
        return json.dumps(self.plain(), indent=2)

    def plain(self) -> dict[str, Any]:
        """The content of a configuration's JSON."""
        return {"version": VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, text: str) -> TrainConfig:
        """Read the text that `to_json` wrote, in this or an older version."""
        return cls.from_plain(door.parse_json(text, "the configuration"))

    @classmethod
    def from_plain(cls, plain: Any) -> TrainConfig:  # noqa: ANN401 - whatever a file holds
        """Read the content of a configuration's JSON."""
        if not isinstance(plain, dict):
            raise GoalsetsError(
                "expected a configuration, a mapping of names to values, got "
                f"{type(plain).__name__}."
            )
        plain = dict(plain)
        version = plain.pop("version", 0)
        unknown = sorted(set(plain) - {field.name for field in dataclasses.fields(cls)})
        if not isinstance(version, int) or version > VERSION or unknown:
            what = f", with {', '.join(map(repr, unknown))}" if unknown else ""
            raise GoalsetsError(
                f"the configuration has version {version}{what}; this goalsets reads versions up "
                f"to {VERSION}. A newer goalsets wrote it, or it is not the configuration of a run."
            )
        if "task" not in plain:
            raise GoalsetsError(
                "the configuration has no 'task': it is not the configuration of a run."
            )
        return cls(**plain)


@functools.cache
def _types() -> dict[str, Any]:
    return get_type_hints(TrainConfig)


def _check_types(config: TrainConfig) -> None:
    """Raise an error for a value of a wrong type: files and overrides may hold anything."""
    for name, wanted in _types().items():
        value = getattr(config, name)
        if name != "settings":
            door.fit(value, Whole if wanted is int else wanted, name, kind=GoalsetsError)
        elif not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise GoalsetsError(f"{name}: expected a mapping of names to values, got {value!r}.")


def _check_settings(learner: str, settings: Mapping[str, Any]) -> None:
    """Raise an error for a setting that the learner does not have, or whose value does not fit."""
    config = LEARNERS[learner].Config
    for name in settings:
        if name not in types_of(config):
            known = ", ".join(types_of(config)) or "none"
            raise GoalsetsError(f"{learner} has no setting {name!r}; it has: {known}.")
    check_settings(config, settings, f"{learner}'s ")
    try:
        config(**settings)  # a configuration may have checks of its own
    except (TypeError, ValueError) as error:
        raise GoalsetsError(f"the settings of {learner}: {error}") from None
