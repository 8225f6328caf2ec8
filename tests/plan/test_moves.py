"""Parts and recorded moves: what the data shows of each group."""

from __future__ import annotations

import numpy as np

from goalsets import Group, StateLayout
from goalsets.envs.tabletop import record_play
from goalsets.plan.evidence import Evidence
from goalsets.plan.moves import Moves, record_moves
from goalsets.plan.parts import Part, find_parts
from tests.plan.worlds import CHEST, TABLE, chest_data, offsets

LINE = StateLayout(
    dim=2,
    groups=[
        Group("a", (0,), "absolute", tolerance=1.0),
        Group("b", (1,), "absolute", tolerance=1.0),
    ],
)


def _rows(*pieces: tuple[float, float, int]) -> np.ndarray:
    """Two numbers that go from where they are to (a, b) in so many equal steps."""
    rows = [np.zeros(2)]
    for a, b, steps in pieces:
        start = rows[-1]
        rows += [start + (np.array([a, b]) - start) * (k + 1) / steps for k in range(steps)]
    return np.array(rows, np.float32)


def test_objects_are_one_part_and_what_never_rests_roams():
    states = record_play(50, 200, num_blocks=2, seed=3).observations
    parts = find_parts(TABLE, states.reshape(-1, TABLE.dim), offsets(states))
    nature = {part.name: part.nature for part in parts}
    assert nature["block0"] == nature["block1"] == "settling"
    assert nature["eff_pos"] == nature["joint_vel"] == "roaming"
    block = next(part for part in parts if part.name == "block1")
    assert [group.name for group in block.groups] == ["block1_pos", "block1_yaw"]


def test_switches_are_told_from_what_slides():
    nature = {part.name: part.nature for part in find_parts(CHEST, *chest_data())}
    assert nature == {
        "hand": "roaming", "lock_state": "switch", "chest": "settling", "ball": "settling",
    }  # fmt: skip


def test_a_move_goes_from_rest_to_rest_and_counts_the_way_to_it():
    rows = _rows((0, 0, 30), (5, 0, 10), (5, 0, 20), (5, 4, 8), (5, 4, 40))
    ends = np.array([0, len(rows)])
    parts = find_parts(LINE, rows, ends)
    moves = record_moves(parts, rows, ends)
    assert moves.changed.tolist() == [[True, False], [False, True]]
    assert moves.before[:, :2].tolist() == [[0, 0], [5, 0]]
    assert moves.after[:, :2].tolist() == [[5, 0], [5, 4]]
    assert moves.steps.tolist() == [40, 28]


def test_a_pause_does_not_end_a_move_and_a_tremble_is_none():
    rows = _rows(
        (0, 0, 30), (2, 0, 5), (2, 0, 4), (5, 0, 5), (5, 0, 30), (5, 0.3, 3), (5, 0, 3), (5, 0, 40)
    )
    ends = np.array([0, len(rows)])
    moves = record_moves(find_parts(LINE, rows, ends), rows, ends)
    assert moves.after[:, 0].tolist() == [5]


def test_parts_that_move_at_once_make_one_move():
    rows = _rows((0, 0, 30), (5, 3, 10), (5, 3, 40))
    ends = np.array([0, len(rows)])
    moves = record_moves(find_parts(LINE, rows, ends), rows, ends)
    assert moves.changed.tolist() == [[True, True]]


def test_a_move_that_an_episode_cuts_off_is_none():
    cut = _rows((0, 0, 60), (5, 0, 10))
    ends = np.array([0, len(cut), 2 * len(cut)])
    moves = record_moves(find_parts(LINE, cut, ends), np.concatenate([cut, cut]), ends)
    assert len(moves) == 0


def test_switches_that_jump_in_one_step_make_one_move():
    layout = StateLayout(
        dim=2, groups=[Group("x", (0,), "exact", kind=""), Group("y", (1,), "exact")]
    )
    rows = np.zeros((40, 2), np.float32)
    rows[10:, :] = 1
    rows[25:, 0] = 0
    ends = np.array([0, 40])
    moves = record_moves(find_parts(layout, rows, ends), rows, ends)
    assert moves.changed.tolist() == [[True, True], [True, False]]
    assert moves.steps.tolist() == [10, 15]


def test_a_block_that_was_only_turned_shows_nothing_about_leaving_its_place():
    groups = [
        Group(f"b{block}_{what}", indices, metric, tolerance=tolerance, kind=f"b*_{what}")
        for block, (pos, yaw) in enumerate([((0, 1), (2, 3)), ((4, 5), (6, 7))])
        for what, indices, metric, tolerance in [
            ("pos", pos, "euclidean", 0.4),
            ("yaw", yaw, "angle", 0.3),
        ]
    ]
    below, free = np.array([0, 0, 1, 0, 0, 0.4, 1, 0]), np.array([0, 0, 1, 0, 9, 9, 1, 0])
    turned, gone = below.copy(), free.copy()
    turned[2:4], gone[:2] = (0, 1), (5, 5)
    before = np.array([below] * 6 + [free] * 6, np.float32)
    after = np.array([turned] * 6 + [gone] * 6, np.float32)
    changed = np.tile([True, False], (12, 1))
    moves = Moves(before, after, changed, np.full(12, 80.0, np.float32))
    parts = [
        Part(f"b{block}", (groups[2 * block],), (0.4,), "settling", "b*") for block in range(2)
    ]
    target = below.astype(np.float32)
    target[:2] = (5, 5)
    for start, possible in ((free, True), (below, False)):
        evidence = Evidence(parts, moves, before)
        judged = evidence.judge(0, start.astype(np.float32), target[None])
        assert bool(judged.allowed[0]) is possible
