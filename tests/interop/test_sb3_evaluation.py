"""The evaluation callback: success of each question with its interval, and the best model kept."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger, configure
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from goalsets import GoalsetsError
from goalsets.core.packing import unpack_goal
from goalsets.envs.goalset_env import make_goalset_env
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.evaluate.stats import Rate
from goalsets.interop.sb3 import GoalSetEvalCallback
from goalsets.relabel.queries import Semantic

DIM = tabletop_layout(1).dim
GOALS = record_play(5, 40, seed=0).observations.reshape(-1, DIM)
QUESTIONS = ("eff_pos", "eff_yaw & gripper_opening")


def make_env(queries: Any = QUESTIONS):
    return make_goalset_env("tabletop-single-v0", queries=queries, goals=GOALS)


class Reaching:
    """Stands where a model of Stable-Baselines3 does: it moves the gripper, and nothing else."""

    def __init__(self, logger: Logger, speed: float = 10.0) -> None:
        self.logger = logger
        self.speed = speed
        self.num_timesteps = 0
        self.saved: list[Path] = []

    def get_env(self) -> None:
        return None

    def get_vec_normalize_env(self) -> None:
        return None

    def predict(self, observation: Any, state: Any, episode_start: bool, deterministic: bool):
        goal, mask = unpack_goal(observation["desired_goal"])
        action = np.zeros(5, np.float32)
        if mask[6]:
            action[:3] = np.clip(self.speed * (goal - observation["observation"])[6:9], -1, 1)
        return action, state

    def save(self, path: Path) -> None:
        path.write_text(str(self.speed))
        self.saved.append(path)


def test_each_question_has_its_rate_and_its_interval(tmp_path: Path, capsys) -> None:
    logger = configure(str(tmp_path / "logs"), ["csv"])
    callback = GoalSetEvalCallback(
        make_env(), every=2, episodes=4, longest=60, directory=tmp_path / "best"
    )
    still, reaching = Reaching(logger, speed=0.0), Reaching(logger)
    for model in (still, reaching, still):
        callback.init_callback(model)  # pyright: ignore[reportArgumentType]
        assert callback.on_step()
        assert callback.on_step()
    logger.close()
    lines = (tmp_path / "best/evaluations.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["best"] for record in records] == [True, True, False]
    found = [record["questions"]["eff_pos"] for record in records]
    assert [told["successes"] for told in found] == [0, 4, 0]
    assert (found[1]["low"], found[1]["high"]) == Rate(4, 4).interval
    assert found[0]["steps"] is None
    assert found[1]["steps"] > 1
    assert records[0] == {**records[2], "best": True}, "the same episodes at every evaluation"
    assert (tmp_path / "best/best_model.zip").read_text() == "10.0"
    logged = (tmp_path / "logs/progress.csv").read_text().splitlines()
    rows = list(csv.DictReader(logged))
    low, high = Rate(4, 4).interval
    assert [float(row["eval_success/eff_pos"]) for row in rows] == [0, 1, 0]
    assert float(rows[1]["eval_low/eff_pos"]) == pytest.approx(low)
    assert float(rows[1]["eval_high/eff_pos"]) == pytest.approx(high)
    assert float(rows[1]["eval/success"]) == records[1]["success"]
    assert "eff_pos 100 % [51, 100]" in capsys.readouterr().out


class Stop(BaseCallback):
    def _on_step(self) -> bool:
        return False


def test_a_new_best_may_end_the_training() -> None:
    callback = GoalSetEvalCallback(make_env("eff_pos"), every=1, episodes=1, on_new_best=Stop())
    callback.init_callback(Reaching(Logger(None, [])))  # pyright: ignore[reportArgumentType]
    assert not callback.on_step()


def test_what_cannot_be_evaluated_is_refused_before_training() -> None:
    with pytest.raises(GoalsetsError, match="name the questions"):
        GoalSetEvalCallback(make_env(Semantic()))
    with pytest.raises(GoalsetsError, match="eff_poz"):
        GoalSetEvalCallback(make_env(), questions=["eff_poz"])
    with pytest.raises(GoalsetsError, match="episodes must be 1 or more, got 0"):
        GoalSetEvalCallback(make_env(), episodes=0)
    with pytest.raises(GoalsetsError, match="expected a GoalSetEnv"):
        GoalSetEvalCallback(__import__("gymnasium").make("CartPole-v1"))


@pytest.mark.full
def test_a_model_is_evaluated_while_it_learns_and_the_best_can_be_loaded(tmp_path: Path) -> None:
    """With normalised observations: the callback shows the model what training shows it."""
    callback = GoalSetEvalCallback(
        make_env(), every=120, episodes=2, longest=30, directory=tmp_path, verbose=0
    )
    venv = VecNormalize(DummyVecEnv([make_env]), norm_obs_keys=["observation"])
    model = SAC(
        "MultiInputPolicy",
        venv,
        learning_starts=100,
        buffer_size=1_000,
        policy_kwargs={"net_arch": [16]},
        seed=0,
        verbose=1,  # the table on the terminal takes the names of our logs
    )
    model.learn(250, callback=callback)
    lines = (tmp_path / "evaluations.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["timesteps"] for record in records] == [120, 240]
    assert list(records[0]["questions"]) == list(QUESTIONS)
    assert records[0]["best"]
    seen = venv.reset()
    best = SAC.load(tmp_path / "best_model.zip")
    assert best.num_timesteps == [r["timesteps"] for r in records if r["best"]][-1]
    assert best.predict(seen, deterministic=True)[0].shape == (1, 5)
