"""The contracts as strangers call them: one broken thing at a time, and the words that name it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from goalsets import Episode, GoalsetsError, Group, StateLayout
from goalsets.collect.find import find_store
from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import Notices, SourceError
from goalsets.envs.tasks import TASKS
from goalsets.learners import LEARNERS, STEPS, ParameterGroup
from goalsets.learners.gcbc import GCBC
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, SCHEMES, Full
from goalsets.runs.config import TrainConfig
from goalsets.testing import check_learner, check_query_distribution, check_source
from tests.envs.walking import walk_task


def changed(base: type, **members: Any) -> Any:
    return type(f"Changed{base.__name__}", (base,), members)


# --- Learners -------------------------------------------------------------------------------------


@dataclass
class Loose:
    alpha: float = 1.0


@dataclass(frozen=True)
class Demanding:
    alpha: float


def unused_part(self: Any, *args: Any) -> None:
    GCBC.__init__(self, *args)
    self.unused = torch.nn.Linear(2, 2)


def with_noise(self: Any, states: Any, goals: Any, masks: Any, *, rng: Any = None) -> Any:
    found = GCBC.decide(self, states, goals, masks)
    return found + torch.rand_like(found)


def deaf(self: Any, states: Any, goals: Any, masks: Any, *, rng: Any = None) -> Any:
    return GCBC.decide(self, states, torch.zeros_like(goals), masks)


def attached(self: Any, batch: Any) -> Any:
    loss, _ = GCBC.losses(self, batch)
    return loss, {"loss": loss}


BROKEN_LEARNERS: dict[str, tuple[dict[str, Any], str]] = {
    "settings": ({"Config": Loose}, "Config must be a frozen dataclass"),
    "no default": ({"Config": Demanding}, "the setting 'alpha' needs a default"),
    "preset": ({"presets": {"huge": {}}}, "it declares settings for 'huge'"),
    "field": ({"presets": {"cpu": {"stepps": 3}}}, "TrainConfig does not have: stepps"),
    "unused": ({"__init__": unused_part}, "no gradient reaches unused"),
    "infinite": ({"losses": lambda self, batch: (torch.tensor(np.inf), {})}, "one finite number"),
    "metrics": ({"losses": attached}, "'loss' must be a tensor without a gradient"),
    "groups": (
        {"parameter_groups": lambda self: [ParameterGroup(list(self.actor.parameters())[1:])]},
        "leaves out .*actor",
    ),
    "chunk": ({"chunk": 3}, r"with chunk 3, decide\(\) must give \[32, 3, 2\], got \[32, 2\]"),
    "draws": ({"decide": with_noise}, "decide.* gives different actions when asked twice"),
    "deaf": ({"decide": deaf}, "goals change no action"),
    "no unit": ({"distance": lambda *_: torch.zeros(1)}, "but no distance_unit"),
    "one distance": (
        {"distance_unit": STEPS, "distance": lambda self, states, *_: states[:, 0]},
        "does not depend on the goal",
    ),
    "shape": (
        {"distance_unit": STEPS, "distance": lambda self, states, *_: states},
        r"32 finite numbers, got shape \[32, 6\]",
    ),
}


@pytest.mark.parametrize("what", BROKEN_LEARNERS)
def test_a_broken_learner_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    members, told = BROKEN_LEARNERS[what]
    monkeypatch.setitem(LEARNERS._entries, "mine", changed(GCBC, **members))
    with pytest.raises((AssertionError, GoalsetsError), match=told):
        check_learner("mine")


# --- Query distributions --------------------------------------------------------------------------

LAYOUT = StateLayout(4, [Group("a", (0, 1)), Group("b", (2, 3))], task="a", name="four")


def masks_of(probability: float) -> Any:
    return lambda _, layout, size, rng: rng.random((size, layout.dim)) < probability


BROKEN_QUERIES: dict[str, tuple[dict[str, Any], str]] = {
    "floats": (
        {"sample": lambda _, y, n, rng: np.ones((n, y.dim))},
        r"bool\[40000, 4\], got float",
    ),
    "empty": ({"sample": masks_of(0.5)}, "queries are empty"),
    "unseeded": (
        {"sample": lambda _, y, n, rng: np.arange(y.dim) <= np.random.rand(n, 1) * 4},  # noqa: NPY002
        "the same seed gave different queries",
    ),
    "marginals": (
        {
            "sample": lambda _, y, n, rng: np.ones((n, y.dim), bool),
            "marginals": lambda _, y: np.full(y.dim, 0.5),
        },
        "coordinate 0 is active in 50.0% of all queries; among 40000 draws it was active in 100.0%",
    ),
    "marginals' shape": (
        {"marginals": lambda _, y: np.ones(3)},
        r"each of 4 coordinates, got \[3\]",
    ),
}


@pytest.mark.parametrize("what", BROKEN_QUERIES)
def test_a_broken_distribution_is_found(what: str) -> None:
    members, told = BROKEN_QUERIES[what]
    with pytest.raises(AssertionError, match=told):
        check_query_distribution(changed(Full, **members)(), LAYOUT)


def test_a_distribution_needs_a_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(QUERY_DISTRIBUTIONS._entries, "mine", Full)
    with pytest.raises(AssertionError, match="no scheme trains with 'mine': add SCHEMES.add"):
        check_query_distribution("mine", LAYOUT)
    scheme = dataclasses.replace(SCHEMES["her-full"], queries="mine", conditioning="none")
    monkeypatch.setitem(SCHEMES._entries, "gs-mine", scheme)
    with pytest.raises(AssertionError, match="'gs-mine' names the conditioner 'none'"):
        check_query_distribution("mine", LAYOUT)


# --- Sources --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Log:
    """A log that fits."""

    name: str = "log"
    """Its name."""
    notices: Notices = field(default_factory=Notices, init=False, compare=False)

    has_validation = False

    def fields(self) -> Any:
        return (FieldSpec("x", 1), FieldSpec("y", 1))

    def describe(self) -> str:
        return "a log"

    def episodes(self, split: str = "train") -> Any:
        if split != "train":
            raise SourceError("there is none.")
        for length in (3, 5):
            yield Episode(np.ones((length + 1, 2), np.float32), np.ones((length, 1), np.float32))


def drawn(self: Any, split: str = "train") -> Any:
    for episode in Log.episodes(self, split):
        noise = np.random.default_rng().random((len(episode) + 1, 2))
        yield dataclasses.replace(episode, observations=noise)


def of(**changes: Any) -> Any:
    def episodes(self: Any, split: str = "train") -> Any:
        for episode in Log.episodes(self, split):
            yield dataclasses.replace(episode, **{k: v(episode) for k, v in changes.items()})

    return episodes


@dataclass(frozen=True)
class Silent(Log):
    """With a setting that nobody explains."""

    more: int = 3


BROKEN_SOURCES: dict[str, tuple[Any, str]] = {
    "explained": (Silent, "Silent.more needs a docstring on the next line"),
    "described": (changed(Log, describe=lambda _: "a\nlog"), "must say in a line"),
    "fields": (
        changed(Log, fields=lambda _: (FieldSpec("x", 3),)),
        r"2 coordinates; fields\(\) has 3",
    ),
    "no episodes": (
        changed(Log, episodes=lambda _, split="train": iter([])),
        "must raise a SourceError",
    ),
    "not finite": (
        changed(Log, episodes=of(actions=lambda e: np.full_like(e.actions, np.nan))),
        "episode 0 of train: actions must be finite",
    ),
    "drawn": (
        changed(Log, episodes=drawn),
        "episode 0 of train: a second reading gave something else",
    ),
    "layout": (changed(Log, known_layout=lambda _: LAYOUT), "must have the 2 coordinates"),
    "actions": (
        changed(Log, episodes=of(actions=lambda e: np.ones((len(e), len(e)), np.float32))),
        "its actions have 5 components, those before 3",
    ),
}


@pytest.mark.parametrize("what", BROKEN_SOURCES)
def test_a_broken_source_is_found(what: str) -> None:
    kind, told = BROKEN_SOURCES[what]
    with pytest.raises(AssertionError, match=told):
        check_source(kind())


def test_a_source_that_fits() -> None:
    check_source(Log())


# --- What strangers are told ----------------------------------------------------------------------


def test_data_of_a_strangers_task_is_not_ogbenchs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path))
    monkeypatch.setitem(TASKS._entries, "walk-v0", walk_task())
    with pytest.raises(GoalsetsError, match="Import a log of it: 'goalsets data import SOURCE LOG"):
        find_store("walk-v0")


@dataclass(frozen=True)
class OtherSettings:
    """Of the types that learners of plugins may have, beyond those of ours."""

    floor: float | None = None
    widths: tuple[int, ...] = (64, 64)
    mode: Literal["near", "far"] | int = "near"


def test_settings_of_any_type_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LEARNERS["gcbc"], "Config", OtherSettings)
    for fits in ({"floor": 1}, {"floor": None}, {"widths": [32]}, {"mode": 3}, {"mode": "far"}):
        TrainConfig("any", "gcbc", settings=fits)
    with pytest.raises(GoalsetsError, match="floor needs a number or null, got 'low'"):
        TrainConfig("any", "gcbc", settings={"floor": "low"})
    with pytest.raises(GoalsetsError, match="mode needs 'near' or 'far' or a whole number"):
        TrainConfig("any", "gcbc", settings={"mode": "there"})
    with pytest.raises(GoalsetsError, match="widths needs a value of type tuple, got 3"):
        TrainConfig("any", "gcbc", settings={"widths": 3})
