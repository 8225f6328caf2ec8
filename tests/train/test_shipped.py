"""Models that come with goalsets: they act without data, and nothing is written to them."""

import numpy as np
import pytest

import goalsets
from goalsets.runs.run import MODELS, Run, RunError, shipped_models


def test_they_are_small_and_have_a_card() -> None:
    assert "demo" in shipped_models()
    for name in shipped_models():
        files = [file for file in (MODELS / name).rglob("*") if file.is_file()]
        assert sum(file.stat().st_size for file in files) < 3_000_000
        assert {file.suffix for file in files} == {".json", ".md", ".safetensors"}  # no pickle
        card = (MODELS / name / "MODEL.md").read_text(encoding="utf-8")
        assert all(word in card for word in ("Data.", "Budget.", "Results", "Limits."))


def test_the_demo_answers_different_questions_differently() -> None:
    policy, run = goalsets.load("demo"), Run.open("demo")
    states = run.bank()
    assert states is not None
    assert states.shape[1] == policy.layout.dim
    state, goal = states[:2]
    actions = [policy.act(state, goal, query) for query in ("cube_pos", "ee_pos", "all")]
    assert all(np.abs(action).max() <= 1 for action in actions)
    assert not np.allclose(actions[0], actions[1])
    assert policy.distance(states, goal, "cube_pos").shape == (len(states),)


def test_nothing_is_recorded_in_it() -> None:
    with pytest.raises(RunError, match="'demo' comes with goalsets, so no records are added"):
        Run.open("demo").add_evaluation({})


def test_a_name_that_is_neither_run_nor_model_lists_the_models() -> None:
    with pytest.raises(RunError, match="demmo is not a run directory.*come with goalsets: demo"):
        Run.open("demmo")
