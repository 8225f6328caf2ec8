"""A goalsets policy where LeRobot expects one, against LeRobot itself.

pytest runs this file in a process of its own: test_lerobot_policy.py starts it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from lerobot.configs.policies import PreTrainedConfig
from lerobot.datasets.lerobot_dataset import LeRobotDatasetMetadata
from lerobot.policies import factory
from lerobot.policies.pretrained import PreTrainedPolicy
from lerobot.scripts import lerobot_eval
from lerobot.utils.control_utils import predict_action

import goalsets.interop.lerobot_policy as adapter
from goalsets import GoalsetsError
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.runs.presets import resolve
from goalsets.train.session import train
from tests.docs.test_code import ROOT, blocks
from tests.export.runs import STATES, exported, small_run
from tests.interop import lerobot_env
from tests.interop.chunked import LAYOUT, Chunked


def batch(rows: int = 1, at: float = 0.5) -> dict[str, torch.Tensor]:
    return {"observation.state": torch.full((rows, 4), at)}


@pytest.mark.filterwarnings("ignore")
def test_it_is_one_of_lerobots_policies(tmp_path: Path) -> None:
    assert PreTrainedConfig.get_choice_class("goalsets") is adapter.GoalsetsConfig
    assert issubclass(adapter.GoalsetsPolicy, PreTrainedPolicy)
    config = adapter.GoalsetsConfig(policy="robot.onnx", query="pos", goal=[1, 2, 4, 8])
    config._save_pretrained(tmp_path)
    read = PreTrainedConfig.from_pretrained(tmp_path)
    assert (read.type, read.policy, read.query, read.goal) == (
        "goalsets", "robot.onnx", "pos", [1.0, 2.0, 4.0, 8.0],
    )  # fmt: skip


def test_it_selects_actions_and_hears_another_question() -> None:
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


def test_mistakes_are_said() -> None:
    policy = adapter.GoalsetsPolicy(adapter.GoalsetsConfig(policy="mine"), Chunked())
    with pytest.raises(GoalsetsError, match="has no question yet"):
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


def test_the_state_may_be_made_of_several_entries() -> None:
    keys = ["observation.state", "observation.environment_state"]
    config = adapter.GoalsetsConfig(policy="mine", state_keys=keys)
    policy = adapter.GoalsetsPolicy(config, Chunked())
    policy.ask(np.zeros(LAYOUT.dim), "pos")
    parts = {keys[0]: torch.full((1, 1), 7.0), keys[1]: torch.zeros(1, 3)}
    assert policy.select_action(parts).tolist() == [[0, 7, 0]]


@pytest.mark.filterwarnings("ignore")
def test_an_exported_policy_acts_the_same_after_saving_and_loading(tmp_path: Path) -> None:
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
def test_the_code_of_the_documentation_runs(tmp_path: Path, monkeypatch) -> None:
    shutil.copy(exported("chunkbc").path, tmp_path / "policy.onnx")
    monkeypatch.chdir(tmp_path)
    (block,) = (b for b in blocks(ROOT / "docs/stacks.md") if b.kind == "python")
    assert block.skipped, "the other processes have no LeRobot"
    states = torch.from_numpy(STATES[:2])
    names = {"state": STATES[20], "other_state": STATES[30], "states": states}
    exec(block.body, names)
    loaded = names["policy"]  # with the first question, as the page says
    loaded.reset()
    seen = {"observation.state": states}
    np.testing.assert_array_equal(loaded.select_action(seen), names["action"])
    loaded.ask(STATES[30], "eff_pos & gripper_opening")
    assert not torch.equal(loaded.select_action(seen), names["action"])


@pytest.mark.filterwarnings("ignore")
def test_lerobots_factories_find_it() -> None:
    assert factory.get_policy_class("goalsets") is adapter.GoalsetsPolicy
    before, after = factory.make_pre_post_processors(adapter.GoalsetsConfig(policy="mine"))
    seen = before({"observation.state": torch.zeros(4)})
    assert seen["observation.state"].shape == (1, 4)
    assert after(torch.ones(1, 3)).tolist() == [[1, 1, 1]]


# --- What LeRobot's commands do with a saved policy ----------------------------------------------

PACKAGE = "goalsets.interop.lerobot_policy"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that knows where to bring the gripper, saved with another question."""
    place = tmp_path_factory.mktemp("saved")
    logs = record_play(100, 100, seed=1).episodes()
    store = write_store(place / "data", logs, layout=tabletop_layout(1))
    size = {"steps": 400, "batch_size": 256, "hidden": 64}
    config = resolve(
        "tabletop-single-v0", learner="chunkbc", scheme="gs-direct", preset="small", overrides=size
    )
    run = train(config, store, place / "run").path
    policy = adapter.GoalsetsPolicy.from_policy(run, goal=lerobot_env.GOAL, query="eff_yaw")
    policy.save_pretrained(place / "head")
    return place / "head"


@pytest.mark.filterwarnings("ignore")
def test_lerobots_evaluation_runs_it(saved: Path, tmp_path: Path, monkeypatch) -> None:
    policy = [f"--policy.path={saved}", f"--discover_packages_path={PACKAGE}"]
    policy += ["--policy.query=eff_pos"]
    sizes = ["--env.type=tabletop", "--eval.n_episodes=4", "--eval.batch_size=2", "--seed=0"]
    monkeypatch.setattr(sys, "argv", ["lerobot-eval", *policy, *sizes, f"--output_dir={tmp_path}"])
    lerobot_eval.main()
    told = json.loads((tmp_path / "eval_info.json").read_text())
    assert told["overall"]["n_episodes"] == 4
    assert sum(told["per_task"][0]["metrics"]["successes"]) == 4
    assert len(list(tmp_path.glob("videos/**/*.mp4"))) == 4


@pytest.mark.filterwarnings("ignore")
def test_lerobots_recording_runs_it(saved: Path, tmp_path: Path) -> None:
    """The calls that `lerobot-record` makes, with an entry that a robot names differently."""
    features = {
        "observation.arm": {"dtype": "float32", "shape": (18,), "names": None},
        "action": {"dtype": "float32", "shape": (5,), "names": None},
    }
    data = LeRobotDatasetMetadata.create("me/robot", 20, features, root=tmp_path / "data")
    config = PreTrainedConfig.from_pretrained(saved)
    config.pretrained_path = saved
    policy = factory.make_policy(config, ds_meta=data)
    before, after = factory.make_pre_post_processors(
        config,
        str(saved),
        dataset_stats=data.stats,
        preprocessor_overrides={
            "device_processor": {"device": "cpu"},
            "rename_observations_processor": {"rename_map": {"observation.arm": adapter.STATE}},
        },
    )
    state = record_play(1, 40, seed=6).observations[0][0]
    action = predict_action(
        {"observation.arm": state}, policy, torch.device("cpu"), before, after, False, "play", "arm"
    )
    expected = adapter.GoalsetsPolicy.from_pretrained(saved)
    seen = {adapter.STATE: torch.from_numpy(state[None])}
    np.testing.assert_array_equal(action, expected.select_action(seen))
