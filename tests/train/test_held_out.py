"""Metrics on held-out episodes: they tell learning from learning by heart, and change nothing."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import goalsets
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.learners import LEARNERS
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run
from goalsets.train.log import HELD_OUT, METRICS, CsvLog
from goalsets.train.session import Pace, train

TASK = "tabletop-single-v0"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("data") / TASK
    episodes = list(record_play(30, 60, seed=2).episodes())
    return write_store(path, episodes[:27], episodes[27:], layout=tabletop_layout(1))


def small(**changes: object) -> TrainConfig:
    fields = {"task": TASK, "steps": 12, "batch_size": 32, "hidden": 32, **changes}
    return TrainConfig(**fields)


def last_row(run: Run) -> dict[str, str]:
    with (run.path / METRICS).open() as file:
        return list(csv.DictReader(file))[-1]


@pytest.mark.parametrize("learner", LEARNERS)
def test_measuring_changes_nothing(learner: str, store: Store, tmp_path: Path) -> None:
    config = small(learner=learner, fill="random")
    often = train(config, store, tmp_path / "often", pace=Pace(log_every=1))
    seldom = train(config, store, tmp_path / "seldom", pace=Pace(log_every=12))
    states = store.validation.observations[:5]
    actions = [goalsets.load(r.path).act(states, states[0], "cube_pos") for r in (often, seldom)]
    np.testing.assert_array_equal(actions[0], actions[1])


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_metric_of_a_loss_is_there(learner: str, store: Store, tmp_path: Path) -> None:
    row = last_row(train(small(learner=learner), store, tmp_path / "run"))
    trained_on = {name for name in row if "/" in name and not name.startswith(HELD_OUT)}
    assert trained_on
    assert {HELD_OUT + name for name in trained_on} <= row.keys()
    assert float(row[HELD_OUT + "loss"]) != float(row["loss"])


def test_what_is_learnt_by_heart_shows(store: Store, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    episodes = [
        dataclasses.replace(episode, actions=rng.uniform(-1, 1, episode.actions.shape))
        for episode in store.trajectories
    ]
    noise = write_store(tmp_path / "noise", episodes[:3], episodes[3:], layout=tabletop_layout(1))
    config = small(steps=400, batch_size=128, hidden=128, learning_rate=3e-3)
    row = last_row(train(config, noise, tmp_path / "run"))
    assert float(row["actor/mse"]) < 0.6
    assert float(row[HELD_OUT + "actor/mse"]) > 1.0, "nobody can know noise"


def test_without_held_out_episodes_there_is_nothing(store: Store, tmp_path: Path) -> None:
    alone = write_store(tmp_path / "alone", store.train, layout=tabletop_layout(1))
    run = train(small(), alone, tmp_path / "run")
    assert not any(name.startswith(HELD_OUT) for name in last_row(run))


def test_an_older_runs_metrics_get_new_columns(tmp_path: Path) -> None:
    (tmp_path / METRICS).write_text("step,seconds,loss\n1,0.1,3.0\n2,0.2,2.0\n")
    log = CsvLog(tmp_path, after=1)
    log.record(2, 0.2, {"loss": 2.5, "held-out/loss": 4.0})
    log.record(3, 0.3, {"held-out/loss": 3.5, "loss": 1.5})
    lines = (tmp_path / METRICS).read_text().splitlines()
    assert lines == [
        "step,seconds,loss,held-out/loss",
        "1,0.1,3.0,",
        "2,0.2,2.5,4.0",
        "3,0.3,1.5,3.5",
    ]
