"""The verdict on a question, go, caution or no-go, and the reason in a sentence.

All thresholds are here. They were chosen on tasks with a simulator, where success can be measured.
docs/check.md says how well verdicts predict success there; `python -m goalsets.campaign.check`
measures it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from goalsets.check.behaviour import Behaviour
from goalsets.check.distance import Distances
from goalsets.check.imitation import AtHorizon, Imitation
from goalsets.check.support import Reach, Support

Word = Literal["go", "caution", "no-go"]
WORDS: tuple[Word, ...] = ("go", "caution", "no-go")
"""From good to bad."""


@dataclass(frozen=True)
class Thresholds:
    """The thresholds of each measurement: the first for caution, the second for no-go."""

    answered: tuple[float, float] = (0.9, 0.5)
    """Least share of goals that some training state answers."""
    episodes: float = 5
    """Least number of training episodes that answer a typical goal; never a no-go."""
    reach: tuple[float, float] = (0.6, 0.05)
    """Least share of situations that are like something that the data did."""
    learned: tuple[float, float] = (1.4, 0.5)
    """Least that the policy has learned; 1 is as good as look-up in the data."""
    still: tuple[float, float] = (0.0, -0.5)
    """Least skill over holding still."""
    neighbour: tuple[float, float] = (0.0, -0.5)
    """Least skill over the nearest neighbour's action."""
    rank_correlation: float = 0.3
    """Least rank correlation of predicted distances with steps. It is never a no-go, because a
    policy can act well without it."""
    unsteadiness: tuple[float, float] = (0.3, 1.0)
    """Largest change of actions by noise of 1 %, in standard deviations of the data's actions."""
    saturation: tuple[float, float] = (0.25, 0.75)
    """Largest excess over the data in the share of actions at a bound, in any component."""
    time: tuple[float, float] = (0.5, 1.0)
    """Longest time for an action, in control periods, if the rate is known."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a question."""

    word: Word
    reason: str
    """The main reason, in a sentence."""
    others: tuple[str, ...]
    """Further reasons, the worst first."""
    score: float
    """Between 0 and 1, to rank questions and checkpoints."""


def spoken_thresholds(at: Thresholds) -> dict[str, tuple[str, str]]:
    """The thresholds in words: each measurement with its limits for caution and no-go."""
    below = {
        "share of goals that some training state answers": at.answered,
        "reach": at.reach,
        "learned": at.learned,
        "skill over holding still": at.still,
        "skill over the nearest neighbour": at.neighbour,
    }
    above = {
        "change of actions by noise, in standard deviations": at.unsteadiness,
        "actions at a bound more often than the data's": at.saturation,
        "time to act, in control periods": at.time,
    }
    found = {name: (f"below {one:g}", f"below {two:g}") for name, (one, two) in below.items()}
    found["training episodes that answer a typical goal"] = (f"below {at.episodes:g}", "never")
    found["rank correlation of distances"] = (f"below {at.rank_correlation:g}", "never")
    found |= {name: (f"above {one:g}", f"above {two:g}") for name, (one, two) in above.items()}
    return found


Finding = tuple[Word, str]


def judge(
    support: Support,
    imitation: Imitation | None,
    distances: Distances | None,
    behaviour: Behaviour | None,
    hearing: Finding | None,
    thresholds: Thresholds,
    *,
    held_out: bool = True,
) -> Verdict:
    """Judge a question.

    Args:
        support: How far the data supports it.
        imitation: How the policy acts; None if the data never went for such a goal.
        distances: How well it predicts distances; None if it predicts none.
        behaviour: How it behaves; None if `imitation` is None.
        hearing: A finding if the policy cannot hear this question and gets another one instead.
        thresholds: The thresholds of the verdict.
        held_out: Whether the policy was measured on episodes that it was not trained on.
    """
    found: list[Finding] = [] if hearing is None else [hearing]
    found += _of_support(support, thresholds)
    if imitation is None:
        found.append(
            ("no-go", "no episode goes for such a goal: it never changes, or is there all along")
        )
    else:
        found += _of_imitation(imitation.overall, thresholds)
    if distances is not None:
        found += _of_distances(distances, thresholds)
    if behaviour is not None:
        found += _of_behaviour(behaviour, thresholds)
    if not held_out:
        found.append(("caution", "no episode is held out: all was measured on training data"))
    worst = sorted(found, key=lambda finding: -WORDS.index(finding[0]))
    word: Word = worst[0][0] if worst else "go"
    reasons = [_sentence(reason) for _, reason in worst]
    if not reasons:
        reasons = [_praise(support)]
    return Verdict(word, reasons[0], tuple(reasons[1:]), score_of(support, imitation))


def score_of(support: Support, imitation: Imitation | None) -> float:
    """Between 0 and 1: answered · √(reach · known).

    Answered is the share of goals whose parts are answered, perhaps by different states. Known is
    half of `learned`, clipped to 1: the best trained policies reached about twice what look-up
    gives.
    """
    if imitation is None:
        return 0.0
    known = min(1.0, max(0.0, imitation.overall.learned / 2))
    reach = 1.0 if support.reach is None else support.reach.share
    return support.parts * math.sqrt(reach * known)


def _of_support(seen: Support, at: Thresholds) -> Iterator[Finding]:
    if seen.answered < at.answered[1]:
        near = f"; the nearest is {_near(seen.nearest[0].tolerances)}" if seen.nearest else ""
        if seen.parts >= at.answered[0]:
            yield (
                "caution",
                f"no training state has all of it at once, only each object by itself{near}",
            )
        elif seen.answered == 0:
            which = "it" if seen.goals == 1 else f"any of {seen.goals} goals"
            yield "no-go", f"no training state answers {which}{near}"
        else:
            some = _percent(seen.answered)
            yield "no-go", f"only {some} of the goals are answered by any training state{near}"
    else:
        word = _low(seen.answered, at.answered)
        if word:
            some = _percent(seen.answered)
            yield word, f"only {some} of the goals are answered by any training state"
        if seen.episodes < at.episodes:
            yield "caution", f"only {_episodes(seen.episodes)} a typical goal"
    yield from _of_reach(seen.reach, at)


def _of_reach(reach: Reach | None, at: Thresholds) -> Iterator[Finding]:
    if reach is None:
        return
    word = _low(reach.share, at.reach)
    if word and reach.blocked > 1 - at.reach[0]:
        yield (
            word,
            f"in {_percent(reach.blocked)} of the states {' and '.join(reach.by)} must change "
            "first: the data does this only at another value",
        )
    elif word:
        yield (
            word,
            f"only {_percent(reach.share)} of random states and goals are like something that the "
            "data did",
        )


def _of_imitation(acts: AtHorizon, at: Thresholds) -> Iterator[Finding]:
    skill = acts.skill
    word = _low(acts.learned, at.learned)
    if word:
        yield (
            word,
            f"it knows the data's actions {_times(acts.learned)} as well as a look-up of similar "
            "states does",
        )
    compared = {
        "still": ("holding still", at.still),
        "neighbour": ("copying the nearest training state", at.neighbour),
    }
    for name, (spoken, levels) in compared.items():
        word = _low(skill[name], levels)
        if word:
            yield word, f"its actions are {_against(skill[name])} {spoken}"


def _of_distances(knows: Distances, at: Thresholds) -> Iterator[Finding]:
    found = knows.rank_correlation
    if math.isnan(found) or found < at.rank_correlation:
        said = "none" if math.isnan(found) else f"{found:.2f}"
        yield "caution", f"it does not know how far it is: the rank correlation is {said}"


def _of_behaviour(does: Behaviour, at: Thresholds) -> Iterator[Finding]:
    word = _high(does.unsteadiness, at.unsteadiness)
    if word:
        yield (
            word,
            f"noise of {does.noise:.0%} on its observations changes its actions by "
            f"{does.unsteadiness:.1f} standard deviations",
        )
    more = [s - d for s, d in zip(does.saturation, does.data_saturation, strict=True)]
    word = _high(max(more), at.saturation)
    if word:
        place = more.index(max(more))
        yield (
            word,
            f"action {place} is at its bound in {_percent(does.saturation[place])} of the cases, "
            f"in the data in {_percent(does.data_saturation[place])}",
        )
    if does.period is not None:
        word = _high(does.slowest / does.period, at.time)
        if word:
            yield (
                word,
                f"an action takes {does.slowest:.1f} ms, and the control period is "
                f"{does.period:.1f} ms",
            )


def _low(value: float, levels: tuple[float, float]) -> Word | None:
    caution, no_go = levels
    return "no-go" if value < no_go else "caution" if value < caution else None


def _high(value: float, levels: tuple[float, float]) -> Word | None:
    caution, no_go = levels
    return "no-go" if value > no_go else "caution" if value > caution else None


def _times(learned: float) -> str:
    return "not nearly" if learned < 0.1 else f"only {learned:.1f} times"


def _against(skill: float) -> str:
    return f"{_percent(-skill)} further from the data's than"


def _praise(seen: Support) -> str:
    return _sentence(
        f"{_episodes(seen.episodes)} {'it' if seen.goals == 1 else 'a typical goal'}, and it acts "
        "as the data does"
    )


def _episodes(count: float) -> str:
    return "1 training episode answers" if count == 1 else f"{count:.0f} training episodes answer"


def _near(tolerances: float) -> str:
    return "infinitely far" if math.isinf(tolerances) else f"{tolerances:.1f} tolerances away"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."
