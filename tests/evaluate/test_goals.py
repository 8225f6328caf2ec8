"""Goals by name: from the data, from official tasks, from files, and edited."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from goalsets import GoalsetsError
from goalsets.envs.layouts import cube_layout
from goalsets.evaluate.goals import GoalFinder, edit_goal

LAYOUT = cube_layout(1)
NAMES = ("left", "right", "up", "down", "back")
BANK = np.zeros((10, 28), dtype=np.float32)
BANK[:, 21] = np.arange(10) / 10


def official(task_id: int) -> np.ndarray:
    return np.full(28, task_id, dtype=np.float32)


def finder(seed: int = 0) -> GoalFinder:
    return GoalFinder(LAYOUT, NAMES, official, 2, lambda: BANK, seed)


def test_official_goals() -> None:
    assert finder().find("task") == (pytest.approx(official(2)), "the official goal of task 2")
    assert finder().find("task:5")[0][0] == 5
    assert finder().find("task:down")[0][0] == 4


def test_states_of_the_bank() -> None:
    assert finder().find("bank:7")[0][21] == pytest.approx(0.7)
    for seed in range(5):
        state, source = finder(seed).find("bank:block0_pos.z >= 0.55")
        assert state[21] > 0.55
        assert source.endswith("one of 4")
    assert len({finder(seed).find("bank")[1] for seed in range(9)}) > 1
    assert finder(3).find("bank")[1] == finder(3).find("bank")[1]


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "goal.json"
    for plain in (list(range(28)), {"goal": list(range(28))}):
        path.write_text(json.dumps(plain))
        assert finder().find(str(path))[0].tolist() == list(range(28))
    path.write_text(json.dumps({"block0_pos": [1, 2, 3], "eff_pos.z": "6cm"}))
    state, source = finder().find(str(path))
    assert state[19:22].tolist() == [1, 2, 3]
    assert state[14] == pytest.approx(0.6)
    assert state[0] == 2
    assert "block0_pos, eff_pos.z from" in source


@pytest.mark.parametrize(
    ("edit", "indices", "values"),
    [
        ("block0_pos=0.4,-0.1,0.02", [19, 20, 21], [0.4, -0.1, 0.02]),
        ("block0_pos=0.4,0.1,0.02m", [19, 20, 21], [4, 1, 0.2]),
        ("block0_pos=4cm,1,20mm", [19, 20, 21], [0.4, 0.01, 0.2]),
        ("block0_pos.z=6cm", [21], [0.6]),
        ("[21]=0.6", [21], [0.6]),
        ("block0_yaw=90deg", [26, 27], [0, 1]),
        ("block0_yaw=0.6,0.8", [26, 27], [0.6, 0.8]),
        ("gripper_opening=2", [17], [2]),
        ("block0_quat=1,0,0,0", [22, 23, 24, 25], [1, 0, 0, 0]),
    ],
)
def test_edits(edit: str, indices: list[int], values: list[float]) -> None:
    before = np.full(28, 7, dtype=np.float32)
    after = edit_goal(before, [edit], LAYOUT)
    np.testing.assert_allclose(after[indices], values, atol=1e-6)
    assert (np.delete(after, indices) == 7).all()
    assert (before == 7).all()


ERRORS = {
    "nonsense": "expected a goal such as task:3, bank:17",
    "task:9": "official goals are task:1 to task:5, or by name task:left task:right",
    "task:x": "got 'task:x'",
    "bank:10": "there are 10 validation states, counted from 0; got 10",
    "bank:block0_pos.z > 5": "none of 10 validation states satisfies 'block0_pos.z > 5'",
    "bank:blok0_pos.z > 5": "unknown group 'blok0_pos'",
    "none.json": "cannot read the goal none.json",
}
EDITS = {
    "block0_pos": "expected an edit such as",
    "block0_pos=1,2": "block0_pos takes 3 numbers, got 2",
    "block0_pos=a,b,c": "expected numbers for block0_pos, got 'a'",
    "block0_pos=inf,0,0": "expected finite numbers",
    "block0_pos=1,2,3deg": "'block0_pos' is measured in m: it cannot take 'deg'",
    "block0_yaw=30": "takes 2 numbers .or an angle, such as 30deg., got 1",
    "block0_yaw=3,4": "block0_yaw must be a direction of length 1, got length 5",
    "blok0_pos=1,2,3": "unknown group 'blok0_pos'",
}


@pytest.mark.parametrize("text", ERRORS)
def test_what_is_no_goal(text: str) -> None:
    with pytest.raises(GoalsetsError, match=ERRORS[text]):
        finder().find(text)


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_no_edit(edit: str) -> None:
    with pytest.raises(GoalsetsError, match=EDITS[edit]):
        edit_goal(BANK[0], [edit], LAYOUT)


@pytest.mark.parametrize("plain", ["[1, 2]", '["a"]', "{", "[NaN]"])
def test_bad_files(plain: str, tmp_path: Path) -> None:
    path = tmp_path / "goal.json"
    path.write_text(plain)
    with pytest.raises(GoalsetsError, match="goal.json"):
        finder().find(str(path))


def test_no_validation_split() -> None:
    empty = GoalFinder(LAYOUT, NAMES, official, 1, lambda: BANK[:0])
    with pytest.raises(GoalsetsError, match="no validation split"):
        empty.find("bank:0")
