"""A goalsets policy where LeRobot expects one, against LeRobot itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from goalsets import GoalsetsError
from tests.interop.chunked import LAYOUT, Chunked

pytestmark = pytest.mark.full


def test_without_lerobot_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['lerobot'] = None; import goalsets.interop.lerobot_policy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError: goalsets.interop.lerobot_policy needs LeRobot" in done.stderr
    assert done.stderr.strip().endswith("pip install lerobot")


@pytest.fixture(scope="module")
def adapter():
    """LeRobot pins an older torch, so the development environment has none."""
    pytest.importorskip("lerobot", reason="needs lerobot, which wants another torch than ours")
    import goalsets.interop.lerobot_policy as adapter

    return adapter


def batch(rows: int = 1, at: float = 0.5) -> dict[str, torch.Tensor]:
    return {"observation.state": torch.full((rows, 4), at)}


@pytest.mark.filterwarnings("ignore")
def test_it_is_one_of_lerobots_policies(adapter, tmp_path: Path) -> None:
    from lerobot.configs.policies import PreTrainedConfig
    from lerobot.policies.pretrained import PreTrainedPolicy

    assert PreTrainedConfig.get_choice_class("goalsets") is adapter.GoalsetsConfig
    assert issubclass(adapter.GoalsetsPolicy, PreTrainedPolicy)
    config = adapter.GoalsetsConfig(policy="robot.onnx", query="pos", goal=[1, 2, 4, 8])
    config._save_pretrained(tmp_path)
    read = PreTrainedConfig.from_pretrained(tmp_path)
    assert (read.type, read.policy, read.query, read.goal) == (
        "goalsets", "robot.onnx", "pos", [1.0, 2.0, 4.0, 8.0],
    )  # fmt: skip


def test_it_selects_actions_and_hears_another_question(adapter) -> None:
    config = adapter.GoalsetsConfig(policy="mine", query="pos", goal=[1, 2, 4, 8])
    policy = adapter.GoalsetsPolicy(config, Chunked())
    policy.eval()
    assert policy.select_action(batch()).tolist() == [[3, 0.5, 0]]
    assert policy.select_action(batch(at=0.7)).tolist() == [[3, 0.5, 1]], "of the same decision"
    policy.ask([1, 2, 4, 8], "angle")
    assert policy.select_action(batch()).tolist() == [[12, 0.5, 0]], "queued actions are dropped"
    policy.reset()
    assert policy.predict_action_chunk(batch(2)).shape == (2, 3, 3)
    asked = {
        **batch(2),
        adapter.GOAL: torch.tensor([[1.0, 2, 4, 8], [2, 2, 4, 8]]),
        adapter.QUERY: ["pos", "angle"],
    }
    assert policy.select_action(asked)[:, 0].tolist() == [3, 12]
    masks = torch.from_numpy(np.array([[1, 0, 0, 0], [0, 0, 0, 1]], dtype=bool))
    assert policy.select_action({**asked, adapter.QUERY: masks})[:, 0].tolist() == [1, 8]


def test_mistakes_are_said(adapter) -> None:
    policy = adapter.GoalsetsPolicy(adapter.GoalsetsConfig(policy="mine"), Chunked())
    with pytest.raises(GoalsetsError, match="was asked nothing yet"):
        policy.select_action(batch())
    with pytest.raises(GoalsetsError, match=r"lacks observation\.state; it has state"):
        policy.select_action({"state": torch.zeros(1, 4)})
    with pytest.raises(GoalsetsError, match=r"needs both goalsets\.goal and goalsets\.query"):
        policy.select_action({**batch(), adapter.QUERY: "pos"})
    with pytest.raises(GoalsetsError, match="train with 'goalsets train'"):
        policy.forward(batch())
    with pytest.raises(GoalsetsError, match="must name an exported policy"):
        adapter.GoalsetsPolicy(adapter.GoalsetsConfig())
    inputs = {"observation.images.front": None}
    config = adapter.GoalsetsConfig(policy="mine", input_features=inputs)
    with pytest.raises(GoalsetsError, match="the inputs lack observation.state"):
        config.validate_features()


def test_the_state_may_be_made_of_several_entries(adapter) -> None:
    keys = ["observation.state", "observation.environment_state"]
    config = adapter.GoalsetsConfig(policy="mine", state_keys=keys)
    policy = adapter.GoalsetsPolicy(config, Chunked())
    policy.ask(np.zeros(LAYOUT.dim), "pos")
    parts = {keys[0]: torch.full((1, 1), 7.0), keys[1]: torch.zeros(1, 3)}
    assert policy.select_action(parts).tolist() == [[0, 7, 0]]


@pytest.mark.filterwarnings("ignore")
def test_an_exported_policy_acts_the_same_after_saving_and_loading(adapter, tmp_path: Path) -> None:
    from tests.export.runs import STATES, exported, small_run

    file = exported("chunkbc").path
    policy = adapter.GoalsetsPolicy.from_policy(file, goal=STATES[20], query="eff_pos")
    assert policy.config.input_features["observation.state"].shape == (18,)
    assert policy.config.output_features["action"].shape == (5,)
    policy.config.validate_features()
    policy.save_pretrained(tmp_path / "saved")
    loaded = adapter.GoalsetsPolicy.from_pretrained(tmp_path / "saved")
    trained = small_run("chunkbc").load()[0]
    memory = trained.reset()
    for state in STATES[:6]:
        seen = {"observation.state": torch.from_numpy(state[None])}
        expected = trained.act(state, STATES[20], "eff_pos", memory=memory)
        for one in (policy, loaded):
            np.testing.assert_allclose(one.select_action(seen)[0], expected, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
def test_lerobots_factories_find_it(adapter) -> None:
    factory = pytest.importorskip("lerobot.policies.factory", reason="needs all of LeRobot")
    assert factory.get_policy_class("goalsets") is adapter.GoalsetsPolicy
    before, after = factory.make_pre_post_processors(adapter.GoalsetsConfig(policy="mine"))
    seen = before({"observation.state": torch.zeros(4)})
    assert seen["observation.state"].shape == (1, 4)
    assert after(torch.ones(1, 3)).tolist() == [[1, 1, 1]]
