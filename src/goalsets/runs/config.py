"""What a run is made of: one frozen configuration."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from goalsets.condition import INPUTS, Fill
from goalsets.core import GoalsetsError, door
from goalsets.core.door.fit import Whole
from goalsets.learners import DEFAULT, LEARNERS
from goalsets.relabel.queries import DEFAULT_SCHEME, SCHEMES

VERSION = 1
"""Of the configuration's file. Files without one are older; what they lack has the default, so a
new field's default must be what was done before there was the field."""

_MOST = {"steps": 10**12, "batch_size": 1 << 24, "hidden": 8192, "horizon": 10**9}
"""The largest values that make sense: what is larger was mistyped, or shall fill memory."""


@dataclass(frozen=True)
class TrainConfig:
    """A training run, completely. Two equal configurations give equal runs."""

    task: str
    """The task whose layout, horizon and official query hold."""
    learner: str = DEFAULT
    """The algorithm."""
    scheme: str = DEFAULT_SCHEME
    """How transitions are relabeled."""
    seed: int = 0
    """Decides everything random."""
    steps: int = 200_000
    """Gradient steps."""
    batch_size: int = 8192
    """Transitions in a step."""
    learning_rate: float = 8e-4
    """AdamW's, at the start."""
    schedule: Literal["constant", "cosine"] = "constant"
    """Whether the learning rate stays, or falls to zero along half a cosine by the last step: in
    a short run the last policy is then not the one of a chance moment."""
    weight_decay: float = 1e-2
    """AdamW's; the library's default, as in the released code."""
    clip: float | None = 1.0
    """Largest gradient norm; None does not clip."""
    clip_apart: bool = False
    """Clip each network by itself: one's large gradient then does not shrink the others'."""
    hidden: int = 256
    """Width of the networks' hidden layers."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """What matrix products of a training step are computed in; weights stay in float32, and a
    trained policy acts in float32. See `goalsets.train.precision`."""
    horizon: int | None = None
    """H_max: how many steps ahead a goal may lie; the task's unless given."""
    labels: Literal["predicate", "terms", "identity", "arrival"] = "predicate"
    """What counts as being at a goal: see `goalsets.relabel.labels`; and whether steps to a goal
    are those to its arrival: see `goalsets.relabel.arrivals`."""
    epsilon: float = 0.02
    """ε of the predicate labels, and of arrivals where a group has no tolerance or is cut."""
    direct: int | None = None
    """Steps within which an actor's goal must be arrived at (see `goalsets.relabel.arrivals`); None
    takes any future goal."""
    linger: int = 0
    """With `direct`: steps after its arrival at which an actor is still asked for a goal. It then
    learns what the data did when it was there."""
    settled: int = 0
    """With `direct`: steps for which a goal about an object must have held when it is drawn. What
    it only passed by is then no goal. Objects are what has a `kind` in the layout."""
    inputs: str = "plain"
    """What networks are shown of a question: the paper's [s̄, ḡ, q] is `plain`; see
    `goalsets.condition.INPUTS`."""
    fill: Fill = "learned"
    """What stands where a query does not look."""
    clamp: Literal["environment", "standardised"] = "environment"
    """Whether an actor is bounded by the bounds of actions, in the environment's units, or by ±1 in
    standardised ones."""
    action_low: Sequence[float] | None = None
    """The smallest action, one number for all components or one for each; what is known of the
    task or of the data unless given."""
    action_high: Sequence[float] | None = None
    """The largest."""
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
        if self.direct is not None and self.direct < 1:
            raise GoalsetsError(f"direct must be 1 step or more, got {self.direct}.")
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
        """Read what `to_json` wrote, now or in an older version."""
        return cls.from_plain(door.parse_json(text, "the configuration"))

    @classmethod
    def from_plain(cls, plain: Any) -> TrainConfig:  # noqa: ANN401 - whatever a file holds
        """Read what a configuration's JSON holds."""
        if not isinstance(plain, dict):
            raise GoalsetsError("expected a configuration, a mapping of names to values.")
        plain = dict(plain)
        version = plain.pop("version", 0)
        unknown = sorted(set(plain) - {field.name for field in dataclasses.fields(cls)})
        if not isinstance(version, int) or version > VERSION or unknown:
            what = f", with {', '.join(map(repr, unknown))}" if unknown else ""
            raise GoalsetsError(
                f"the configuration has version {version}{what}; this goalsets reads versions up "
                f"to {VERSION}. A newer one wrote it, or it is not of a run."
            )
        if "task" not in plain:
            raise GoalsetsError("the configuration names no task: it is not of a run.")
        return cls(**plain)


@functools.cache
def _types() -> dict[str, Any]:
    return get_type_hints(TrainConfig)


def _check_types(config: TrainConfig) -> None:
    """Raise an error for a value that is of another type: files and overrides may hold anything."""
    for name, wanted in _types().items():
        value = getattr(config, name)
        if name != "settings":
            door.fit(value, Whole if wanted is int else wanted, name, kind=GoalsetsError)
        elif not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise GoalsetsError(f"{name}: expected a mapping of names to values, got {value!r}.")


def _check_settings(learner: str, settings: Mapping[str, Any]) -> None:
    """Raise an error for a setting that the learner does not have, or that is of another type."""
    types = get_type_hints(LEARNERS[learner].Config)
    for name, value in settings.items():
        if name not in types:
            known = ", ".join(types) or "none"
            raise GoalsetsError(f"{learner} has no setting {name!r}; it has: {known}.")
        if not _fits(value, types[name]):
            expected = " or ".join(_told(types[name]))
            raise GoalsetsError(f"{learner}'s {name} needs {expected}, got {value!r}.")


def _fits(value: object, wanted: Any) -> bool:  # noqa: ANN401 - a type, as an annotation says it
    if get_origin(wanted) in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(wanted))
    if get_origin(wanted) is Literal:
        return value in get_args(wanted)
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    # A configuration is a JSON file: of a list, only that it is one can be seen here.
    plain = get_origin(wanted) or wanted
    return wanted is Any or type(value) is plain or (plain is tuple and type(value) is list)


def _told(wanted: Any) -> list[str]:  # noqa: ANN401 - as above
    """What a type takes, for people."""
    if get_origin(wanted) in (Union, UnionType):
        return [text for each in get_args(wanted) for text in _told(each)]
    if get_origin(wanted) is Literal:
        return [repr(choice) for choice in get_args(wanted)]
    if wanted in (float, NoneType):
        return ["a number" if wanted is float else "null"]
    return [f"a value of type {getattr(get_origin(wanted) or wanted, '__name__', wanted)}"]
