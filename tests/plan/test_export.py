"""A planner beside an exported policy: the same plans, without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from goalsets import GoalsetsError
from goalsets.cli import main
from goalsets.plan.planner_file import PLANNER
from goalsets.runs.run import Run
from goalsets.runtime import load
from tests.plan.runs import copy_of_run, place, question, store

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    store()
    run = copy_of_run(tmp_path_factory.mktemp("export") / "run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOALSETS_DATA", str(place() / "data"))
        main(["export", str(run.path)])
        assert not (run.path / "policy.planner.safetensors").exists()
        (run.path / "policy.onnx").rename(run.path / "without.onnx")
        main(["export", str(run.path), "--plan"])
    return run


ALONE = """
import json, sys
import numpy as np
import goalsets.runtime
from goalsets import GoalSet, Query

policy = goalsets.runtime.load(sys.argv[1])
early = [name for name in ("scipy", "safetensors", "goalsets.plan") if name in sys.modules]
chain = policy.planning()
asked = np.load(sys.argv[2])
query = Query.parse("task", policy.layout)
told = []
for first, goal in zip(asked["first"], asked["goal"]):
    memory = chain.reset()
    action = chain.act(first, goal, query, memory=memory)
    plan = chain.following(memory).plan
    references = [np.asarray(step.goals.reference).tolist() for step in plan.steps]
    told.append([plan.explain(), references, action.tolist()])
heavy = ("torch", "gymnasium", "mujoco", "ogbench", "goalsets.data", "goalsets.envs", "onnx")
found = [name for name in sys.modules if name in heavy or name.startswith("torch.")]
print(json.dumps({"told": told, "imported": found, "early": early}))
"""


def test_the_runtime_plans_as_the_run_does_without_torch(run: Run, tmp_path: Path) -> None:
    questions = [question(task_id, seed) for task_id in (2, 4, 5) for seed in (0, 1)]
    arrays = {
        "first": np.stack([first for first, _ in questions]),
        "goal": np.stack([np.asarray(goals.reference) for _, goals in questions]),
    }
    np.savez(tmp_path / "asked.npz", **arrays)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(run.path / "policy.onnx"), str(tmp_path / "asked.npz")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["imported"] == []
    assert found["early"] == [], "who does not plan needs numpy and onnxruntime alone"
    policy = run.load()[0].planning()
    for (first, goals), (text, references, action) in zip(questions, found["told"], strict=True):
        plan = policy.planner.plan(first, goals)
        assert text == plan.explain()
        assert references == [np.asarray(step.goals.reference).tolist() for step in plan.steps]
        expected = policy.act(first, goals.reference, goals.query)
        np.testing.assert_allclose(action, expected, atol=1e-5)


def test_a_run_with_a_planner_is_exported_with_it(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path / "nothing"))
    main(["export", str(run.path), "-o", str(tmp_path / "robot.onnx")])
    beside = tmp_path / "robot.planner.safetensors"
    assert f"planner   {beside}" in capsys.readouterr().out
    assert beside.read_bytes() == (run.path / PLANNER).read_bytes()
    assert load(tmp_path / "robot.onnx").card["planner"]["data"] == store().fingerprint


def test_what_is_not_there_or_of_another_export_ends_in_a_sentence(
    run: Run, tmp_path: Path
) -> None:
    without, model = load(run.path / "without.onnx"), tmp_path / "policy.onnx"
    assert without.card["planner"] is None
    with pytest.raises(GoalsetsError, match=r"without a planner: export it with .* --plan"):
        without.planning()
    model.write_bytes((run.path / "policy.onnx").read_bytes())
    with pytest.raises(GoalsetsError, match="copy that file, too"):
        load(model).planning()
    beside = tmp_path / "policy.planner.safetensors"
    whole = (run.path / "policy.planner.safetensors").read_bytes()
    for broken in (b"", whole[:200], whole[:-1], whole[:-1] + b"\x07"):
        beside.write_bytes(broken)
        with pytest.raises(GoalsetsError, match="is not the planner that was exported with"):
            load(model).planning()
    # One that is named is taken, if it is one.
    with pytest.raises(GoalsetsError, match="is not a planner, or is damaged"):
        load(model).planning(tmp_path / "policy.onnx")
    beside.write_bytes(whole)
    first, goals = question(4)
    named = without.planning(beside).planner.plan(first, goals)
    assert named.explain() == load(model).planning().planner.plan(first, goals).explain()
