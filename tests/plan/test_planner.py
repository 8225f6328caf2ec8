"""Plans: what must come first comes first, by what the data shows and nothing else."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections import deque

import numpy as np
import pytest

from goalsets import GoalSet, Query
from goalsets.plan import Planner, read_planner, write_planner
from goalsets.plan.evidence import Jump
from goalsets.plan.moves import Moves
from goalsets.plan.parts import Part
from goalsets.plan.planner_file import PlannerFileError
from goalsets.plan.switches import SwitchRule
from tests.plan.worlds import (
    CHEST,
    INSIDE,
    TABLE,
    chest_data,
    chest_planner,
    chest_state,
    table_planner,
)

FLOOR = 0.2
"""Where a block's centre is on the table, and …"""
UPON = 0.6
"""… on another block."""


def _table(block0: tuple[float, ...], block1: tuple[float, ...]) -> np.ndarray:
    state = np.array(table_planner().usual[0])
    state[list(TABLE.by_name["block0_pos"].indices)] = block0
    state[list(TABLE.by_name["block1_pos"].indices)] = block1
    return state


def _chain(state: np.ndarray, goal: np.ndarray, query: str = "task") -> list[tuple[str, bool]]:
    plan = table_planner().plan(state, GoalSet(goal, Query.parse(query, TABLE)))
    assert plan.found, plan.missing
    return [(step.parts[0], step.aside) for step in plan.steps]


def test_free_places_take_one_move_each():
    start = _table((0, -1, FLOOR), (0, 1, FLOOR))
    goal = _table((1, -1, FLOOR), (1, 1, FLOOR))
    assert sorted(_chain(start, goal)) == [("block0", False), ("block1", False)]


def test_what_is_there_already_is_left_alone():
    start = _table((0, -1, FLOOR), (0, 1, FLOOR))
    assert _chain(start, _table((0, -1, FLOOR), (1, 1, FLOOR))) == [("block1", False)]
    assert _chain(start, start) == []


def test_a_swap_parks_one_block_first():
    start, goal = _table((0, -1, FLOOR), (0, 1, FLOOR)), _table((0, 1, FLOOR), (0, -1, FLOOR))
    first, second, third = _chain(start, goal)
    assert [first[1], second[1], third[1]] == [True, False, False]
    assert first[0] == third[0] != second[0]


@pytest.mark.parametrize("lower", [0, 1])
def test_the_lower_block_of_a_stack_comes_first(lower):
    start = _table((0, -1, FLOOR), (0, 1, FLOOR))
    heights = [FLOOR if block == lower else UPON for block in range(2)]
    goal = _table((0.5, 0, heights[0]), (0.5, 0, heights[1]))
    assert [name for name, _ in _chain(start, goal)] == [f"block{lower}", f"block{1 - lower}"]


def test_a_place_that_another_block_takes_is_cleared_though_nobody_asked_for_that():
    start = _table((0, -1, FLOOR), (0, 1, FLOOR))
    goal = _table((0, 1, FLOOR), (0, 1, FLOOR))
    assert _chain(start, goal, "block0_pos") == [("block1", True), ("block0", False)]


def test_a_plan_says_what_it_does_and_what_speaks_for_it():
    start, goal = _table((0, -1, FLOOR), (0, 1, FLOOR)), _table((0, 1, FLOOR), (0, -1, FLOOR))
    plan = table_planner().plan(start, GoalSet(goal, Query.parse("task", TABLE)))
    lines = plan.explain().splitlines()
    assert len(lines) == 4
    assert "on the way" in lines[0]
    assert "such moves in the data" in lines[1]
    assert lines[3] == f"about {plan.price:.0f} steps in all"


def test_an_impossible_plan_names_the_move_that_is_missing():
    start = _table((0, -1, FLOOR), (0, 1, FLOOR))
    goal = _table((0, 9, FLOOR), (0, 1, FLOOR))
    plan = table_planner().plan(start, GoalSet(goal, Query.parse("task", TABLE)))
    assert not plan.found
    assert plan.steps == ()
    assert "no move of block0 in the data is like this one" in plan.explain()
    assert "tolerances away" in plan.explain()


def test_tolerances_of_a_question_stay():
    start = _table((0, -1, FLOOR), (0, 1, FLOOR))
    goal = _table((1, -1, FLOOR), (0, 1, FLOOR))
    asked = GoalSet(goal, Query.parse("block0_pos:1cm", TABLE))
    (step,) = table_planner().plan(start, asked).steps
    assert step.goals.query.terms[0].tolerance == pytest.approx(0.1)


def _chest(start: np.ndarray, goal: np.ndarray) -> list[str]:
    plan = chest_planner().plan(start, GoalSet(goal, Query.parse("task", CHEST)))
    assert plan.found, plan.missing
    return [" and ".join(step.parts) for step in plan.steps]


def test_a_lock_is_opened_before_and_shut_after():
    start, goal = chest_state(False, 0, (3, 1)), chest_state(False, 1, (3, 1))
    assert _chest(start, goal) == ["lock_state", "chest", "lock_state"]
    assert _chest(chest_state(True, 0, (3, 1)), goal) == ["chest", "lock_state"]


def test_what_is_put_inside_moves_along():
    start = chest_state(False, 0, (3, 1))
    goal = chest_state(True, 0, tuple(INSIDE))
    assert _chest(start, goal) == ["lock_state", "chest", "ball", "chest and ball"]


def test_what_moves_together_is_asked_for_by_the_part_that_the_data_knows_best():
    start = chest_state(True, 1, (INSIDE[0] + 1, INSIDE[1]))
    goal = chest_state(True, 0, tuple(INSIDE))
    (step,) = chest_planner().plan(start, GoalSet(goal, Query.parse("task", CHEST))).steps
    assert str(step.goals.query) == "chest"


def test_a_file_brings_the_same_planner_back(tmp_path):
    start, goal = _table((0, -1, FLOOR), (0, 1, FLOOR)), _table((0, 1, FLOOR), (0, -1, FLOOR))
    write_planner(table_planner(), tmp_path / "planner.safetensors")
    again = read_planner(tmp_path / "planner.safetensors")
    asked = GoalSet(goal, Query.parse("task", TABLE))
    assert again.plan(start, asked).explain() == table_planner().plan(start, asked).explain()
    assert [path.name for path in tmp_path.iterdir()] == ["planner.safetensors"]


def test_files_that_are_no_planner_end_in_a_sentence(tmp_path):
    with pytest.raises(PlannerFileError, match="there is no planner"):
        read_planner(tmp_path / "none.safetensors")
    write_planner(chest_planner(), tmp_path / "p.safetensors")
    whole = (tmp_path / "p.safetensors").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(0, 3000, 3):
            damaged[place] = int(rng.integers(256))
        (tmp_path / "d.safetensors").write_bytes(bytes(damaged))
        with contextlib.suppress(PlannerFileError):
            read_planner(tmp_path / "d.safetensors")


def test_planning_is_the_same_for_the_same_data():
    again = Planner.learn(CHEST, *chest_data())
    start, goal = chest_state(False, 0, (3, 1)), chest_state(True, 0, tuple(INSIDE))
    asked = GoalSet(goal, Query.parse("task", CHEST))
    assert again.plan(start, asked).explain() == chest_planner().plan(start, asked).explain()


def _jump(parts: tuple[int, ...], count: int) -> Jump:
    changed = np.zeros((1, count), bool)
    changed[0, list(parts)] = True
    nothing = np.zeros((1, count), np.float32)
    return Jump(parts, Moves(nothing, nothing, changed, np.ones(1, np.float32)))


@pytest.mark.parametrize("seed", range(8))
def test_the_least_number_of_flips_is_that_of_a_blind_search(seed):
    rng = np.random.default_rng(seed)
    count = 5
    sets = {tuple(np.flatnonzero(rng.random(count) < 0.4).tolist()) for _ in range(6)} - {()}
    jumps = [_jump(parts, count) for parts in sorted(sets)]
    parts = [Part(f"s{i}", (), (), "switch") for i in range(count)]
    rule = SwitchRule(parts, jumps)
    depth = {frozenset(): 0}
    queue = deque([frozenset()])
    while queue:
        here = queue.popleft()
        for jump in jumps:
            there = here ^ set(jump.parts)
            if there not in depth:
                depth[there] = depth[here] + 1
                queue.append(there)
    for size in range(count + 1):
        for wrong in itertools.combinations(range(count), size):
            if frozenset(wrong) in depth:
                assert rule.least(wrong) == depth[frozenset(wrong)]


@pytest.mark.parametrize("dear", [0, 1])
def test_a_learners_distance_may_price_the_moves(dear):
    """Of two blocks that change places, the one that is dear to move is moved only once."""
    start, goal = _table((0, -1, FLOOR), (0, 1, FLOOR)), _table((0, 1, FLOOR), (0, -1, FLOOR))
    column = TABLE.by_name[f"block{dear}_pos"].indices[0]

    def distance(states, goals, masks):
        assert states.shape == goals.shape == masks.shape
        return np.where(masks[:, column], 300.0, 20.0).astype(np.float32)

    asked = GoalSet(goal, Query.parse("task", TABLE))
    plan = table_planner().plan(start, asked, distance=distance)
    assert [step.parts[0] for step in plan.steps].count(f"block{dear}") == 1
    assert plan.price == 20 + 300 + 20
    assert table_planner().plan(start, asked).price != plan.price


def test_waypoints_are_whole_states_in_which_the_step_is_done():
    """Policies that are shown whole states get the plan's objects, and a robot of the data."""
    start, goal = _table((0, -1, FLOOR), (0, 1, FLOOR)), _table((0, 1, FLOOR), (0, -1, FLOOR))
    plan = table_planner().plan(start, GoalSet(goal, Query.parse("task", TABLE)))
    hands = table_planner().moves.after[:, list(TABLE.by_name["eff_pos"].indices)]
    expected = start.copy()
    for step in plan.steps:
        reference = np.asarray(step.goals.reference)
        own = list(TABLE.by_name[f"{step.parts[0]}_pos"].indices)
        other = list(TABLE.by_name[f"block{'10'[int(step.parts[0][-1])]}_pos"].indices)
        assert step.holds(reference)
        assert reference[other].tolist() == expected[other].tolist()
        hand = reference[list(TABLE.by_name["eff_pos"].indices)]
        assert (hands == hand).all(1).any()
        expected[own] = reference[own]


@pytest.mark.parametrize(("witnesses", "known"), [(2, False), (3, True)])
def test_parts_that_moved_together_once_or_twice_did_so_by_accident(witnesses, known):
    planner = chest_planner()
    names = [part.name for part in planner.parts]
    together = planner.moves.changed[:, [names.index("chest"), names.index("ball")]].all(1)
    before, after = planner.moves.before.copy(), planner.moves.after.copy()
    shutting = np.flatnonzero(together & (after[:, 3] < 0.5))
    assert len(shutting) > 3
    for states in (before, after):
        states[np.ix_(shutting[witnesses:], [5])] += 30.0  # the others were somewhere else
    moves = dataclasses.replace(planner.moves, before=before, after=after)
    judged = dataclasses.replace(planner, moves=moves, _evidence={})
    start, goal = chest_state(True, 1.0, (1.0, 5.0)), chest_state(True, 0.0, (0.0, 5.0))
    plan = judged.plan(start, GoalSet(goal, Query.parse("chest & ball", CHEST)))
    assert (plan.found and len(plan.steps) == 1) is known
