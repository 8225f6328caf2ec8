"""Settings of learners: every number has a range, and a value outside it is refused by name."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import pytest
from msgspec import Meta

import goalsets
from goalsets.cli import main
from goalsets.core import GoalsetsError
from goalsets.learners import LEARNERS, Settings
from goalsets.learners.settings import check_settings, types_of
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import MODELS
from goalsets.sweep.files import parse_sweep
from goalsets.sweep.grid import Job, SweepError

ROOT = Path(__file__).parents[2]
TASK = "tabletop-single-v0"
NUMBERS = [
    (learner, field.name)
    for learner in LEARNERS
    for field in dataclasses.fields(LEARNERS[learner].Config)
    if isinstance(field.default, int | float) and not isinstance(field.default, bool)
]
"""Every numeric setting of every learner."""


def limits(learner: str, name: str) -> Meta:
    wanted = types_of(LEARNERS[learner].Config)[name]
    assert get_origin(wanted) is Annotated, f"{learner}'s {name} declares no range"
    (found,) = (each for each in get_args(wanted)[1:] if isinstance(each, Meta))
    return found


def outside(learner: str, name: str) -> Iterator[Any]:
    """Values just outside a range on both sides, and far from it."""
    found = limits(learner, name)
    low, high = found.gt if found.ge is None else found.ge, found.le
    high = found.lt if high is None else high
    assert low is not None, f"{learner}'s {name} has no smallest value"
    assert high is not None, f"{learner}'s {name} has no largest value"
    whole = get_args(types_of(LEARNERS[learner].Config)[name])[0] is int
    below, above = (1 if whole else 0.0005 * max(1.0, abs(end)) for end in (low, high))
    yield low if found.gt is not None else low - below
    yield high if found.lt is not None else high + above
    yield 10**30
    yield from () if whole else (math.nan, math.inf, -math.inf)


def test_there_are_settings() -> None:
    assert {learner for learner, _ in NUMBERS} == set(LEARNERS)
    assert ("hiql", "discount") in NUMBERS, "those of a base count, too"


@pytest.mark.parametrize(("learner", "name"), NUMBERS)
def test_a_value_outside_its_range_is_refused(learner: str, name: str) -> None:
    config = LEARNERS[learner].Config
    for value in outside(learner, name):
        said = (
            rf"{name} needs a (whole )?number (above|of at least) .*, got {re.escape(repr(value))}"
        )
        with pytest.raises(GoalsetsError, match=f"^{said}"):
            config(**{name: value})
        with pytest.raises(GoalsetsError, match=f"^{learner}'s {said}"):
            TrainConfig(TASK, learner, settings={name: value})
        plain = TrainConfig(TASK, learner).plain()
        with pytest.raises(GoalsetsError, match=f"^{learner}'s {said}"):
            TrainConfig.from_json(json.dumps({**plain, "settings": {name: value}}))


@pytest.mark.parametrize(("learner", "name"), NUMBERS)
def test_sweeps_and_commands_refuse_it_too(
    learner: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = next(outside(learner, name))
    said = f"{learner}'s {name} needs a .*number .*, got {re.escape(repr(value))}"
    text = f"tasks: {TASK}\nlearners: {learner}\noverrides: {{settings: {{{name}: {value}}}}}"
    with pytest.raises(SweepError, match=f"mine.yaml: {said}"):
        parse_sweep(text, "mine.yaml", "mine")
    words = ["train", TASK, "--learner", learner, "--output", str(tmp_path / "run")]
    with pytest.raises(SystemExit):
        main([*words, "--set", f"{name}={value}"])
    assert re.search(f"^error: {said}", capsys.readouterr().err)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("learner", "name"), NUMBERS)
def test_the_ends_of_a_range_belong_to_it(learner: str, name: str) -> None:
    found = limits(learner, name)
    for value in (found.ge, found.le):
        if value is not None:
            check_settings(LEARNERS[learner].Config, {name: value})


def test_settings_that_do_not_fit_each_other() -> None:
    with pytest.raises(GoalsetsError, match=r"taken needs to be at most .* a chunk \(4\), got 5"):
        TrainConfig(TASK, "chunkbc", settings={"taken": 5})
    TrainConfig(TASK, "chunkbc", settings={"taken": 5, "length": 5})


@dataclasses.dataclass(frozen=True)
class Plain:
    """A stranger's, without our base."""

    rate: Annotated[float | None, Meta(gt=0)] = None
    steps: Annotated[int, Meta(le=10)] | None = None
    free: float = 1.0

    def __post_init__(self) -> None:
        if self.free == 13:
            raise ValueError("13 brings bad luck")


def test_a_stranger_may_declare_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LEARNERS["gcbc"], "Config", Plain)
    for fits in ({"rate": None, "steps": None}, {"rate": 1e-9, "steps": -5}, {"free": -1e30}):
        TrainConfig("any", "gcbc", settings=fits)
    for settings, said in (
        ({"rate": 0}, "gcbc's rate needs a number above 0 or null, got 0"),
        ({"steps": 11}, "gcbc's steps needs a whole number up to 10 or null, got 11"),
        ({"free": 13}, "the settings of gcbc: 13 brings bad luck"),
    ):
        with pytest.raises(GoalsetsError, match=said):
            TrainConfig("any", "gcbc", settings=settings)


def test_the_base_checks_types() -> None:
    @dataclasses.dataclass(frozen=True)
    class Mine(Settings):
        loud: bool = False

    with pytest.raises(GoalsetsError, match="loud needs true or false, got 1"):
        Mine(loud=1)  # pyright: ignore[reportArgumentType]


def recorded() -> list[Path]:
    return sorted([*(ROOT / "results").rglob("config.json"), *MODELS.glob("*/config.json")])


def test_every_recorded_run_still_has_its_configuration_and_name() -> None:
    """Its directory has the name that its configuration gives."""
    assert len(recorded()) > 150
    for file in recorded():
        plain = json.loads(file.read_text(encoding="utf-8"))
        plain.pop("plugins", None)
        config = TrainConfig.from_plain(plain)
        if file.parent.parent.parent.name == "runs" and file.is_relative_to(ROOT / "results"):
            assert Job(config).name == str(file.parent.relative_to(file.parents[2]))


def test_a_configuration_of_a_recorded_run_with_nonsense_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "run"
    place.mkdir()
    plain = json.loads((MODELS / "demo" / "config.json").read_text(encoding="utf-8"))
    nonsense = {"learner": "gcbc", "settings": {"discount": 7}}
    (place / "config.json").write_text(json.dumps({**plain, **nonsense}))
    with pytest.raises(GoalsetsError, match="gcbc's discount needs a number of at least 0.001 and"):
        goalsets.load(place)
