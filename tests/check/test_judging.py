"""Judging: each measurement turns the verdict at its threshold, and the worst decides."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from goalsets.check.behaviour import Behaviour
from goalsets.check.distance import Distances
from goalsets.check.imitation import AtHorizon, Errors, Imitation
from goalsets.check.support import Near, Reach, Support
from goalsets.check.verdict import Thresholds, Verdict, judge, score_of, spoken_thresholds

SUPPORT = Support(
    goals=24,
    answered=1.0,
    states=100,
    all_states=1000,
    episodes=50,
    all_episodes=100,
    starts=40,
    visits=60,
    direct=0.9,
    steps=(5, 10, 20),
    parts=1.0,
    reach=Reach(0.9, 0.0, ()),
    nearest=(),
    unanswered=None,
)
DISTANCES = Distances("steps", 0.8, 3.0, 0.0, 0.9, ((1, 1.0),))
BEHAVIOUR = Behaviour(0.01, 0.01, 1.0, (0.1, 0.1), (0.1, 0.1), 1.0, 2.0, 20.0)


def acting(policy: float = 0.4, **errors: float) -> Imitation:
    told = {"still": 0.9, "mean": 1.0, "neighbour": 0.9, "look_up": 0.7, "other_goal": 0.8}
    kinds = {n: Errors(e, (e,)) for n, e in {**told, **errors, "policy": policy}.items()}
    found = AtHorizon(1, 100, 600, **kinds, direction=0.9, same_way=0.9)
    return Imitation(found, (found,))


def verdict(imitation: Imitation | None = None, hearing: Any = None, **changes: Any) -> Verdict:
    support = dataclasses.replace(SUPPORT, **changes.pop("support", {}))
    distances = dataclasses.replace(DISTANCES, **changes.pop("distances", {}))
    behaviour = dataclasses.replace(BEHAVIOUR, **changes.pop("behaviour", {}))
    acts = acting() if imitation is None else imitation
    return judge(support, acts, distances, behaviour, hearing, Thresholds(), **changes)


def test_nothing_wrong_is_a_go() -> None:
    assert verdict().word == "go"
    assert verdict().reason == (
        "50 training episodes answer a typical goal, and it acts as the data does."
    )
    assert verdict().others == ()


@pytest.mark.parametrize(
    ("changes", "word", "reason"),
    [
        ({"support": {"answered": 0.8}}, "caution", "Only 80 % of the goals are answered"),
        ({"support": {"answered": 0.3, "parts": 0.3}}, "no-go", "Only 30 % of the goals"),
        ({"support": {"answered": 0.0, "parts": 0.0, "goals": 1}}, "no-go", "No training state"),
        ({"support": {"answered": 0.0, "parts": 1.0}}, "caution", "only each object by itself"),
        ({"support": {"episodes": 3}}, "caution", "Only 3 training episodes answer"),
        ({"support": {"reach": Reach(0.4, 0.0, ())}}, "caution", "Only 40 % of random states"),
        ({"support": {"reach": Reach(0.02, 0.0, ())}}, "no-go", "Only 2 % of random states"),
        (
            {"support": {"reach": Reach(0.4, 0.5, ("lock0",))}},
            "caution",
            "In 50 % of the states lock0 must change first",
        ),
        ({"imitation": acting(0.65)}, "caution", "only 1.2 times as well as a look-up"),
        ({"imitation": acting(0.99)}, "no-go", "not nearly as well as a look-up"),
        ({"imitation": acting(0.4, still=0.3)}, "caution", "33 % further from the data's than hol"),
        ({"imitation": acting(0.4, neighbour=0.2)}, "no-go", "than copying the nearest training"),
        ({"distances": {"rank_correlation": 0.1}}, "caution", "does not know how far it is"),
        ({"distances": {"rank_correlation": float("nan")}}, "caution", "correlation is none"),
        ({"behaviour": {"unsteadiness": 0.5}}, "caution", "Noise of 1% on its observations"),
        ({"behaviour": {"saturation": (0.1, 0.95)}}, "no-go", "Action 1 is at its bound in 95 %"),
        ({"behaviour": {"slowest": 15.0}}, "caution", "An action takes 15.0 ms"),
        ({"behaviour": {"slowest": 25.0}}, "no-go", "the control period is 20.0 ms"),
        ({"hearing": ("no-go", "it cannot hear")}, "no-go", "It cannot hear."),
        ({"held_out": False}, "caution", "No episode is held out"),
    ],
)
def test_each_measurement_turns_the_verdict(changes: Any, word: str, reason: str) -> None:
    found = verdict(**changes)
    assert found.word == word
    assert reason in found.reason
    assert found.reason.endswith(".")


def test_the_worst_reason_comes_first_and_the_others_follow() -> None:
    found = verdict(support={"episodes": 3}, imitation=acting(0.99))
    assert found.word == "no-go"
    assert "look-up" in found.reason
    assert any("Only 3 training episodes" in other for other in found.others)


def test_no_rows_are_a_no_go_with_a_score_of_0() -> None:
    found = judge(SUPPORT, None, None, None, None, Thresholds())
    assert (found.word, found.score) == ("no-go", 0.0)


def test_the_nearest_answer_is_told() -> None:
    near = Near(3, 4, 2.5, {"place": "5 cm"})
    lost = {"answered": 0.0, "parts": 0.0, "goals": 1, "nearest": (near,)}
    assert "the nearest is 2.5 tolerances away" in verdict(support=lost).reason


def test_a_score_rises_with_what_is_learned_and_with_reach() -> None:
    little, more = score_of(SUPPORT, acting(0.8)), score_of(SUPPORT, acting(0.5))
    assert 0 < little < more <= 1
    near = dataclasses.replace(SUPPORT, reach=Reach(0.2, 0.0, ()))
    assert score_of(near, acting(0.5)) < more
    assert score_of(SUPPORT, acting(1.2)) == 0


def test_learned_counts_in_what_looking_up_gives() -> None:
    assert acting(1.0).overall.learned == pytest.approx(0.0)
    assert acting(0.7).overall.learned == pytest.approx(1.0)
    assert acting(0.4).overall.learned == pytest.approx(2.0)
    assert acting(0.9, look_up=1.1).overall.learned == pytest.approx(2.0)  # a twentieth must do


def test_every_threshold_is_on_the_page() -> None:
    assert len(spoken_thresholds(Thresholds())) == len(dataclasses.fields(Thresholds))
