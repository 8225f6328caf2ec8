"""The result of a check in words and formatted numbers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from goalsets.check.found import Check
from goalsets.check.imitation import AtHorizon, Still
from goalsets.check.verdict import WORDS

STILL: dict[Still, str] = {
    "zero": "the action zero",
    "repeat": "the last action again",
}


def share(value: float | None) -> str:
    """A share in percent; a dash for none."""
    return "–" if value is None or math.isnan(value) else f"{100 * value:.0f} %"


def number(value: float | None) -> str:
    """A number with few digits; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def times(value: float | None) -> str:
    """How many times as much; a dash for none."""
    return "–" if value is None or math.isnan(value) else f"{max(0.0, value):.1f} ×"


def counts(check: Check) -> dict[str, int]:
    """How many questions have each verdict, from good to bad."""
    words = [each.verdict.word for each in check.questions]
    return {word: words.count(word) for word in WORDS}


def summary(check: Check) -> str:
    """The verdicts in a sentence."""
    found = ", ".join(f"{count} {word}" for word, count in counts(check).items())
    total = len(check.questions)
    return f"{total} {'question' if total == 1 else 'questions'}: {found}"


def plain(check: Check) -> dict[str, Any]:
    """The whole check as plain data; NaN becomes null."""
    told = dataclasses.asdict(check)
    for each, question in zip(told["questions"], check.questions, strict=True):
        if question.imitation is not None:
            places = [question.imitation.overall, *question.imitation.by_horizon]
            targets = [each["imitation"]["overall"], *each["imitation"]["by_horizon"]]
            for target, place in zip(targets, places, strict=True):
                target |= {"skill": dict(place.skill), "learned": place.learned}
    return _without_gaps(told)


def _without_gaps(value: Any) -> Any:  # noqa: ANN401 - whatever a check holds
    """As JSON can hold it: tuples become lists, NaN and infinity become null."""
    if isinstance(value, Mapping):
        return {str(key): _without_gaps(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_gaps(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def baselines(acts: AtHorizon, still: Still) -> list[tuple[str, float]]:
    """The policy and its baselines: label and error e of each."""
    return [
        ("this policy", acts.policy.scaled),
        ("mean of 20 neighbours (look-up)", acts.look_up.scaled),
        ("nearest neighbour", acts.neighbour.scaled),
        (f"holding still ({STILL[still]})", acts.still.scaled),
        ("the data's mean action", acts.mean.scaled),
        ("this policy, shown another goal", acts.other_goal.scaled),
    ]
