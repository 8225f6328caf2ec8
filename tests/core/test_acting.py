"""Actions that were decided at once: taken one after another, dropped with their question."""

from __future__ import annotations

import numpy as np

from goalsets.core.acting import ActionQueue

GOALS = np.arange(6, dtype=np.float32).reshape(2, 3)
MASKS = np.array([[True, True, False], [True, False, False]])


class Decider:
    """Decides the numbers 0, 1, 2 … of a decision, and which decision it was."""

    def __init__(self) -> None:
        self.rows: list[list[int]] = []

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        self.rows.append(rows.tolist())
        number = len(self.rows)
        decided = np.stack([np.arange(4), np.full(4, number)], axis=1)
        return np.tile(decided, (len(rows), 1, 1)).astype(np.float32)


def test_a_decision_is_used_up_before_the_next() -> None:
    queue, decide = ActionQueue(3), Decider()
    taken = [queue.next(GOALS, MASKS, decide)[0].tolist() for _ in range(7)]
    assert taken == [[0, 1], [1, 1], [2, 1], [0, 2], [1, 2], [2, 2], [0, 3]]
    assert decide.rows == [[0, 1]] * 3


def test_only_rows_with_another_question_decide_anew() -> None:
    queue, decide = ActionQueue(3), Decider()
    queue.next(GOALS, MASKS, decide)
    moved = GOALS.copy()
    moved[1, 0] += 1
    assert queue.next(moved, MASKS, decide).tolist() == [[1, 1], [0, 2]]
    assert decide.rows == [[0, 1], [1]]
    wider = MASKS.copy()
    wider[0, 2] = True
    assert queue.next(moved, wider, decide).tolist() == [[0, 3], [1, 2]]


def test_what_nobody_looks_at_is_no_part_of_the_question() -> None:
    queue, decide = ActionQueue(3), Decider()
    queue.next(GOALS, MASKS, decide)
    elsewhere = GOALS.copy()
    elsewhere[:, 2] += 1
    assert queue.next(elsewhere, MASKS, decide).tolist() == [[1, 1], [1, 1]]


def test_another_number_of_rows_begins_anew() -> None:
    queue, decide = ActionQueue(3), Decider()
    queue.next(GOALS, MASKS, decide)
    assert queue.next(GOALS[:1], MASKS[:1], decide).tolist() == [[0, 2]]
