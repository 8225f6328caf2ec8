"""Run directories: what a training leaves behind is all that is needed afterwards."""

from __future__ import annotations

import csv
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import goalsets
from goalsets import GoalsetsError
from goalsets.data.horizon import usual_horizon
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.envs.tasks import TASKS
from goalsets.learners import LEARNERS
from goalsets.relabel.queries import SCHEMES
from goalsets.runs import weights
from goalsets.runs.config import TrainConfig
from goalsets.runs.plugins import needed_plugins, write_config
from goalsets.runs.run import Run, RunError
from goalsets.runs.weights import CHECKPOINT, WeightsError
from goalsets.sweep.grid import Job
from goalsets.train.log import METRICS, TENSORBOARD, CsvLog, LogError
from goalsets.train.loop import DivergedError
from goalsets.train.session import Pace, train

TASK = "tabletop-single-v0"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("data") / TASK
    episodes = list(record_play(30, 60, seed=2).episodes())
    write_store(path, episodes[:27], episodes[27:], layout=tabletop_layout(1), source="play")
    return Store.open(path)


def small(**changes: object) -> TrainConfig:
    fields = {"task": TASK, "steps": 12, "batch_size": 32, "hidden": 32, **changes}
    return TrainConfig(**fields)


# --- What is in it ---


@pytest.mark.parametrize("learner", LEARNERS)
def test_policy_comes_back(learner: str, store: Store, tmp_path: Path) -> None:
    run = train(small(learner=learner), store, tmp_path / "run", pace=Pace(keep_every=6))
    assert run.steps == [6, 12]
    states = store.validation.observations[:5]
    latest = goalsets.load(run.path)
    np.testing.assert_array_equal(
        latest.act(states, states[0], "cube_pos"),
        goalsets.load(run.path, step=12).act(states, states[0], "cube_pos"),
    )
    early = goalsets.load(run.path, step=6).act(states, states[0], "cube_pos")
    assert (early != latest.act(states, states[0], "cube_pos")).any()
    assert latest.layout == tabletop_layout(1)
    if LEARNERS[learner].distance_unit is not None:
        assert latest.distance(states, states[0], "cube_pos").shape == (5,)
        assert latest.distance(states[0], states[1], "cube_pos").shape == ()


def test_run_says_what_it_was_made_from(store: Store, tmp_path: Path) -> None:
    run = Run.open(train(small(), store, tmp_path / "run").path)
    assert run.config == small()
    assert run.data["fingerprint"] == store.fingerprint
    assert run.data["transitions"] == store.train.num_transitions
    assert run.frame.horizon == 60
    np.testing.assert_allclose(
        run.frame.normaliser.state_mean, store.train.observations.mean(0), rtol=1e-4, atol=1e-5
    )


def test_random_fill_comes_back(store: Store, tmp_path: Path) -> None:
    run = train(small(fill="random"), store, tmp_path / "run")
    states = store.validation.observations[:2]
    first, again = goalsets.load(run.path), goalsets.load(run.path)
    actions = [policy.act(states, states[0], "cube_pos") for policy in (first, again)]
    np.testing.assert_array_equal(*actions)
    assert first.learner.conditioner.bank.any(), "what it drew from is not a part of the run"


def test_metrics_go_to_csv_and_tensorboard(store: Store, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = train(small(), store, tmp_path / "run", pace=Pace(log_every=4))
    with (run.path / METRICS).open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [4, 8, 12]
    events = EventAccumulator(str(run.path / TENSORBOARD))
    events.Reload()
    points = events.Scalars("actor/loss")
    assert [point.step for point in points] == [4, 8, 12]
    np.testing.assert_allclose(
        [point.value for point in points], [float(row["actor/loss"]) for row in rows], rtol=1e-5
    )


def test_a_store_of_ones_own_needs_no_task(store: Store, tmp_path: Path) -> None:
    config = small(task=str(store.path), horizon=20)
    run = train(config, store, tmp_path / "run")
    assert run.frame.horizon == 20
    usual = train(small(task=str(store.path)), store, tmp_path / "other")
    assert usual.frame.horizon == usual_horizon(store.train, run.frame.layout)


# --- Continuing ---


def test_a_run_is_not_overwritten(store: Store, tmp_path: Path) -> None:
    train(small(), store, tmp_path / "run")
    with pytest.raises(RunError, match="contains a run already. Use --resume"):
        train(small(), store, tmp_path / "run")


def test_another_run_is_not_continued(store: Store, tmp_path: Path) -> None:
    train(small(), store, tmp_path / "run")
    with pytest.raises(RunError, match="a different run: batch_size is 32, not 64"):
        train(small(batch_size=64), store, tmp_path / "run", resume=True)
    other = write_store(
        tmp_path / "data", list(record_play(5, 60, seed=9).episodes()), layout=tabletop_layout(1)
    )
    with pytest.raises(RunError, match="its data is different"):
        train(small(), other, tmp_path / "run", resume=True)


def test_a_finished_run_continues_to_nothing(store: Store, tmp_path: Path) -> None:
    run = train(small(), store, tmp_path / "run")
    before, rows = run.checkpoint.read_bytes(), (run.path / METRICS).read_text()
    train(small(), store, tmp_path / "run", resume=True)
    assert run.checkpoint.read_bytes() == before
    assert (run.path / METRICS).read_text() == rows, "it trained again, to the same weights"


COMMAND = "train tabletop-single-v0 --learner gcivl --steps 300 --batch-size 64 --hidden 64 "
COMMAND += "--checkpoint-every 20 --log-every 5 --keep-every 100 --evaluate never --threads 1 "


@pytest.mark.full
def test_sigkill_at_a_random_step_changes_nothing(store: Store, tmp_path: Path) -> None:
    """Through the command line, as a person would: kill, resume, compare every weight."""

    def command(place: Path) -> list[str]:
        data = f"--data {store.path} --output {place}"
        return [sys.executable, "-m", "goalsets", *COMMAND.split(), *data.split()]

    subprocess.run(command(tmp_path / "alone"), check=True, capture_output=True)
    killed = subprocess.Popen(
        command(tmp_path / "killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    metrics, moment = tmp_path / "killed" / METRICS, random.Random(time.time_ns()).randint(5, 55)
    while not metrics.exists() or len(metrics.read_text().splitlines()) <= moment:
        assert killed.poll() is None, "it ended before it was killed"
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    resumed = subprocess.run(
        [*command(tmp_path / "killed"), "--resume"], capture_output=True, text=True, check=True
    )
    if moment > 5:
        assert "continuing at step" in resumed.stderr
    for name in (CHECKPOINT, "weights/step-100.safetensors", "weights/step-300.safetensors"):
        alone, other = (load_file(tmp_path / run / name) for run in ("alone", "killed"))
        assert alone.keys() == other.keys()
        differ = [key for key in alone if not torch.equal(alone[key], other[key])]
        assert not differ, f"killed after {moment} rows: {name} differs in {differ[:3]}"
    with metrics.open() as file:
        assert [int(row["step"]) for row in csv.DictReader(file)] == list(range(5, 301, 5))


# --- What can go wrong ---


def test_full_disk_keeps_the_last_checkpoint(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = weights.save

    def full(tensors: object, metadata: dict[str, str]) -> bytes:
        if int(metadata["step"]) > 8:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(tensors, metadata)

    monkeypatch.setattr(weights, "save", full)
    with pytest.raises(WeightsError, match="No space left on device.*is unchanged"):
        train(small(), store, tmp_path / "run", pace=Pace(checkpoint_every=4))
    assert not list((tmp_path / "run").rglob("*.tmp"))
    assert Run.open(tmp_path / "run").load()[1].step == 8
    monkeypatch.undo()
    train(small(), store, tmp_path / "run", pace=Pace(checkpoint_every=4), resume=True)
    assert Run.open(tmp_path / "run").load()[1].step == 12


def test_a_place_that_cannot_be_written(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GoalsetsError, match="cannot train in .*file.run: Not a directory"):
        train(small(), store, tmp_path / "file" / "run")


def test_metrics_that_cannot_be_written(tmp_path: Path) -> None:
    log = CsvLog(tmp_path)
    (tmp_path / METRICS).mkdir()
    with pytest.raises(LogError, match=r"metrics\.csv: expected a file, got a directory"):
        log.record(1, 0.1, {"loss": 1.0})


def test_a_row_that_a_kill_cut_short_is_dropped(tmp_path: Path) -> None:
    (tmp_path / METRICS).write_text("step,seconds,loss\n5,0.1,1.0\n10,0.2,0.9\n15,0.")
    CsvLog(tmp_path, after=15).record(15, 0.3, {"loss": 0.8})
    assert (tmp_path / METRICS).read_text().split() == [
        "step,seconds,loss",
        "5,0.1,1.0",
        "10,0.2,0.9",
        "15,0.3,0.8",
    ]


def test_exploding_learning_rate_is_explained(store: Store, tmp_path: Path) -> None:
    config = small(learner="gciql", learning_rate=1e6, steps=200, clip=None)
    with pytest.raises(DivergedError, match="gciql diverged by step .* Try a lower"):
        train(config, store, tmp_path / "run", pace=Pace(log_every=1))


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda path: (path / "config.json").unlink(), "is not a run directory"),
        (lambda path: (path / "config.json").write_text("{"), "config.json is not JSON"),
        (lambda path: (path / "frame.safetensors").write_bytes(b"xx"), "cannot read .*frame.safe"),
        (lambda path: (path / "layout.json").unlink(), "layout.json"),
        (lambda path: (path / CHECKPOINT).unlink(), "does not have a checkpoint"),
        (lambda path: (path / CHECKPOINT).write_bytes(b"xx"), "cannot read the checkpoint"),
    ],
)
def test_damaged_runs_are_named(
    break_it: object, message: str, store: Store, tmp_path: Path
) -> None:
    run = train(small(), store, tmp_path / "run")
    break_it(run.path)  # type: ignore[operator]
    with pytest.raises(GoalsetsError, match=message):
        goalsets.load(run.path)


def test_a_directory_of_runs_is_no_run(store: Store, tmp_path: Path) -> None:
    train(small(), store, tmp_path / "runs" / "one")
    with pytest.raises(RunError, match="There are runs inside it: .*one"):
        goalsets.load(tmp_path / "runs")
    with pytest.raises(RunError, match="weights of step 7; steps with weights: 12"):
        goalsets.load(tmp_path / "runs" / "one", step=7)


def test_evaluations_are_lines(store: Store, tmp_path: Path) -> None:
    run = train(small(), store, tmp_path / "run")
    assert run.evaluations() == []
    run.add_evaluation({"kind": "official", "step": 12, "success": 0.5, "num_episodes": 2})
    run.add_evaluation({"kind": "suite", "step": 12, "digest": "d", "by_predicate": {}})
    assert [record["kind"] for record in Run.open(run.path).evaluations()] == ["official", "suite"]
    assert len((run.path / "evaluations.jsonl").read_text().splitlines()) == 2
    json.loads((run.path / "data.json").read_text())
    with (run.path / "evaluations.jsonl").open("a") as file:
        file.write('{"kind": "off')
    with pytest.raises(RunError, match="evaluations.jsonl is damaged in line 3"):
        run.evaluations()


def test_configurations_of_other_versions(store: Store, tmp_path: Path) -> None:
    run = train(small(), store, tmp_path / "run")
    file = run.path / "config.json"
    plain = json.loads(file.read_text())
    assert plain["version"] == 1
    file.write_text(json.dumps({k: v for k, v in plain.items() if k != "version"}))
    assert Run.open(run.path).config == small()  # written before there were versions
    for changed, message in (
        ({"version": 2}, "has version 2; this goalsets reads versions up to 1"),
        ({"warmth": 3}, "has version 1, with 'warmth'"),
        ({"scheme": "gs-blok"}, "unknown scheme 'gs-blok'"),
    ):
        file.write_text(json.dumps({**plain, **changed}))
        with pytest.raises(RunError, match=message):
            Run.open(run.path)


def test_plugins_are_recorded_beside_the_configuration(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = train(small(), store, tmp_path / "run")
    file = run.path / "config.json"
    assert file.read_text() == small().to_json()  # without plugins, as before there were any
    monkeypatch.setitem(SCHEMES._plugins, "gs-blockwise", "my_lab.robots")
    monkeypatch.setitem(TASKS._plugins, TASK, "my_arm")
    assert needed_plugins(small()) == ["my_arm", "my_lab.robots"]
    assert needed_plugins(small(task=str(store.path))) == ["my_lab.robots"]  # a store, no task
    name = Job(small()).name
    file.write_text(write_config(small()))
    assert json.loads(file.read_text())["plugins"] == ["my_arm", "my_lab.robots"]
    with pytest.raises(RunError, match="needs the plugins 'my_arm' and 'my_lab.robots'"):
        Run.open(run.path)
    monkeypatch.setitem(sys.modules, "my_arm", sys)
    with pytest.raises(RunError, match="needs the plugin 'my_lab.robots', not loaded here: add"):
        Run.open(run.path)
    monkeypatch.setitem(sys.modules, "my_lab.robots", sys)
    assert Run.open(run.path).config == small()
    assert Job(Run.open(run.path).config).name == name
    file.write_text(json.dumps({**json.loads(file.read_text()), "plugins": "my_arm"}))
    with pytest.raises(RunError, match="must be a list of names, got 'my_arm'"):
        Run.open(run.path)


@pytest.mark.parametrize(
    ("learner", "settings", "message"),
    [
        (
            "gciql",
            {"alpha": "much"},
            "gciql's alpha needs a number of at least 0 and up to 1,000,000, got 'much'",
        ),
        ("gciql", {"witness": 1}, "gciql's witness needs true or false, got 1"),
        ("gciql", {"extraction": "bc"}, "needs 'ddpg.bc' or 'awr', got 'bc'"),
        (
            "crl",
            {"layers": 2.5},
            "crl's layers needs a whole number of at least 0 and up to 64, got 2.5",
        ),
        ("gcbc", {"alpha": 1.0}, "gcbc has no setting 'alpha'; it has: discount"),
    ],
)
def test_settings_are_checked(learner: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(GoalsetsError, match=message):
        small(learner=learner, settings=settings)
