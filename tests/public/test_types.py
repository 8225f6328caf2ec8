"""A type checker knows what the public names give: no `Any` where an array of bool comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import goalsets

pytest.importorskip("pyright", reason="needs pyright, which comes with the extra dev")

CHECKED = """
import numpy as np
import torch
from numpy.typing import NDArray
from typing_extensions import assert_type

import goalsets
from goalsets import Episode, GoalSet, Group, Query, StateLayout
from goalsets.policy import TrainedPolicy

layout = StateLayout(2, [Group("place", (0, 1), tolerance=0.1)])
query = Query.parse("place", layout)
assert_type(query, Query)
assert_type(query.mask, NDArray[np.bool_])

goals = GoalSet([0.0, 0.0], query)
assert_type(goals.layout, StateLayout)
assert_type(goals.query, Query)

states = np.zeros((3, 2))
assert_type(goals.contains(states), NDArray[np.bool_])
assert_type(goals.contains([[0.0, 0.0]]), NDArray[np.bool_])
assert_type(goals.distance(states), NDArray[np.floating])
(term,) = goals.violations(states)
assert_type(term.satisfied, NDArray[np.bool_])
assert_type(term.distance, NDArray[np.floating])

tensors = torch.zeros(3, 2)
assert_type(GoalSet(tensors, query).contains(tensors), torch.Tensor)
assert_type(goals.contains(tensors), torch.Tensor)
assert_type(goals.distance(tensors), torch.Tensor)
assert_type(goals.violations(tensors)[0].satisfied, torch.Tensor)

episode = Episode(np.zeros((3, 2)), np.zeros((2, 1)))
assert_type(len(episode), int)
assert_type(episode.observations, NDArray[np.floating])

policy = goalsets.load("runs/mine")
assert_type(policy, TrainedPolicy)
assert_type(policy.act(states, states[0], "place"), NDArray[np.float32])
assert_type(goalsets.check_task("mine"), list[str])
assert_type(goalsets.read_layout("layout.yaml"), StateLayout)
assert_type(goalsets.write_layout(layout, "layout.yaml"), None)
assert_type(goalsets.__version__, str)

store = goalsets.from_episodes([episode], "store", rate=20)
assert_type(store, goalsets.Store)
assert_type(store.train, goalsets.Trajectories)
assert_type(goalsets.write_store("other", [episode], layout=layout), goalsets.Store)
"""


@cache
def pyright_runs() -> bool:
    """Whether it starts: it needs Node.js, which is a package of its own."""
    asked = [sys.executable, "-m", "pyright", "--version"]
    return subprocess.run(asked, capture_output=True, check=False, timeout=100).returncode == 0


def pyright(*words: str | Path, cwd: Path) -> str:
    if not pyright_runs():
        pytest.skip("pyright cannot run here: it needs Node.js")
    source = str(Path(goalsets.__file__).parents[1])
    # --verifytypes does not heed --pythonpath: it asks the first python on the path.
    first = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *words],
        cwd=cwd,
        env={
            **os.environ,
            "PATH": first,
            "PYTHONPATH": source,
            "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
    )
    return done.stdout


@pytest.mark.full
def test_a_type_checker_knows_what_comes_back(tmp_path: Path) -> None:
    (tmp_path / "checked.py").write_text(CHECKED, encoding="utf-8")
    found = json.loads(pyright("checked.py", cwd=tmp_path))
    assert found["summary"]["filesAnalyzed"] == 1
    assert [
        (at["range"]["start"]["line"], at["message"]) for at in found["generalDiagnostics"]
    ] == []


@pytest.mark.full
def test_no_public_name_has_an_unknown_type(tmp_path: Path) -> None:
    told = json.loads(pyright("--verifytypes", "goalsets", "--ignoreexternal", cwd=tmp_path))
    symbols = {symbol["name"]: symbol for symbol in told["typeCompleteness"]["symbols"]}
    for name in goalsets.__all__:
        if name == "__version__":  # pyright leaves out such names; the test above has it
            continue
        home = f"{getattr(goalsets, name).__module__}.{name}"
        mine = {n: s for n, s in symbols.items() if n == home or n.startswith(f"{home}.")}
        vague = [
            [n, *(at["message"] for at in s["diagnostics"])]
            for n, s in mine.items()
            if not s["isTypeKnown"] or s["isTypeAmbiguous"]
        ]
        assert mine, f"{home} is not among what pyright reports"
        assert vague == []


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(goalsets.__file__).parent / "py.typed").exists()
