"""A policy that keeps its question: what was decided ahead belongs to the question."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import GoalsetsError
from goalsets.interop.asking import Asker
from tests.interop.chunked import LAYOUT, Chunked

STATE = np.array([0.5, 0.0, 1.0, 0.0], np.float32)
GOAL = np.array([1.0, 2.0, 4.0, 8.0], np.float32)


def test_actions_are_taken_from_a_decision_until_it_is_used_up() -> None:
    asker = Asker(Chunked())
    asker.ask(GOAL, "pos")
    taken = [asker.act(STATE + step).tolist() for step in range(4)]
    assert taken == [[3, 0.5, 0], [3, 0.5, 1], [3, 0.5, 2], [3, 3.5, 0]]
    assert asker.policy.decisions == 2


def test_another_question_drops_what_was_decided() -> None:
    asker = Asker(Chunked())
    asker.ask(GOAL, "pos")
    asker.act(STATE)
    asker.ask(GOAL, "angle")
    assert asker.act(STATE + 1).tolist() == [12, 1.5, 0]
    asker.ask(GOAL * 2, "angle")
    assert asker.act(STATE + 2).tolist() == [24, 2.5, 0]
    asker.ask(GOAL * 2, "angle")  # the same again
    assert asker.act(STATE + 3).tolist() == [24, 2.5, 1]


def test_an_episode_begins_with_a_decision_and_the_question_stays() -> None:
    asker = Asker(Chunked())
    asker.ask(GOAL, "pos")
    asker.act(STATE)
    asker.reset()
    assert asker.act(STATE + 1).tolist() == [3, 1.5, 0]


@pytest.mark.parametrize(("executed", "length"), [(3, 3), (2, 2), (1, 1)])
def test_looking_ahead_changes_nothing(executed: int, length: int) -> None:
    asker = Asker(Chunked(executed))
    asker.ask(GOAL, "pos")
    asker.act(STATE)
    ahead = asker.act_ahead(np.stack((STATE, STATE + 1)))
    assert ahead.shape == (2, length, 3)
    assert ahead[1, :, 2].tolist() == list(range(length))
    expected = [3, 0.5, 1] if executed > 1 else [3, 5.5, 0]
    assert asker.act(STATE + 5).tolist() == expected


def test_mistakes_are_found_where_they_are_made() -> None:
    asker = Asker(Chunked())
    with pytest.raises(GoalsetsError, match="has no question yet"):
        asker.act(STATE)
    with pytest.raises(GoalsetsError, match="did you mean 'pos'"):
        asker.ask(GOAL, "poss")
    with pytest.raises(GoalsetsError, match=str(LAYOUT.dim)):
        asker.ask(GOAL[:3], "pos")
