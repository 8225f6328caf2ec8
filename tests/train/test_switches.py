"""A declared switch: training is the same, and every way to act answers one of its two values."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import goalsets
import goalsets.runtime
from goalsets.cli import main
from goalsets.core import Episode
from goalsets.data.bounds import Bounds, BoundsError, Limits
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.export import ParityError, export_onnx, parity
from goalsets.export.traced import WholePolicy
from goalsets.interop.asking import Asker, load_policy
from goalsets.interop.batches import RelabeledData
from goalsets.play.logs.along import look_along
from goalsets.policy import TrainedPolicy
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run, RunError
from goalsets.sweep.grid import Job
from goalsets.train.session import train
from tests.play.logs import arm

GRIP = 2
VALUES = (0.0, float(np.float32(0.04)))
"""A gripper that opens by four centimetres; the arm's own log says 0 and 1."""


def recorded(count: int, seed: int) -> list[Episode]:
    widths = np.float32([1, 1, 0.04])
    return [dataclasses.replace(e, actions=e.actions * widths) for e in arm.record(count, seed)]


def small(store: Store, **changes: object) -> TrainConfig:
    fields = {"task": str(store.path), "steps": 30, "batch_size": 64, "hidden": 32, "horizon": 20}
    return TrainConfig(**{**fields, "learning_rate": 3e-3, **changes})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("data") / "store"
    return write_store(path, recorded(30, 0), recorded(6, 1), layout=arm.LAYOUT, rate=arm.RATE)


@pytest.fixture(scope="module", params=["gcbc", "chunkbc"])
def run(request: pytest.FixtureRequest, store: Store, tmp_path_factory: pytest.TempPathFactory):
    config = small(store, learner=request.param, action_switches=(GRIP,))
    return train(config, store, tmp_path_factory.mktemp("runs") / request.param)


def asked(store: Store) -> tuple[np.ndarray, np.ndarray, str]:
    states = np.asarray(store.validation.observations, np.float32)
    return states, np.roll(states, 17, axis=0), "hand & grip"


def numbers(run: Run) -> TrainedPolicy:
    """The policy as if its switches had not been declared."""
    policy, frame = run.load()[0], run.frame
    bounds = frame.bounds.without_switches()
    return TrainedPolicy(policy.learner, frame.layout, frame.normaliser, bounds)


def expected(run: Run, store: Store) -> np.ndarray:
    """Answers, with the grip set by hand."""
    found = numbers(run).act(*asked(store))
    found[:, GRIP] = np.where(found[:, GRIP] < np.float32(0.02), *np.float32(VALUES))
    return found


def test_training_is_the_same_and_only_answers_differ(
    run: Run, store: Store, tmp_path: Path
) -> None:
    plain = train(small(store, learner=run.config.learner), store, tmp_path / "plain")
    ours, theirs = (load_file(r.weights(30)) for r in (run, plain))
    assert ours.keys() == theirs.keys()
    assert all((ours[name] == theirs[name]).all() for name in ours)
    between = goalsets.load(plain.path).act(*asked(store))
    assert (between == numbers(run).act(*asked(store))).all()
    inside = (between[:, GRIP] > 0.001) & (between[:, GRIP] < 0.039)
    assert inside.mean() > 0.5, "a regression answers numbers between"
    with safe_open(plain.path / "frame.safetensors", "np") as file:
        assert set(file.metadata()) == {"horizon", "action_bounds", "digest", "digests"}, (
            "as before"
        )
    assert plain.tell_bounds()["notes"] == [
        "action 2 has two values, 0 and 0.04: a switch? A policy returns numbers between them; "
        "--action-switches 2 makes policies answer 0 or 0.04."
    ]
    assert run.tell_bounds()["notes"] == []


def test_a_policy_answers_one_of_the_two_values(run: Run, store: Store) -> None:
    states, goals, query = asked(store)
    policy, wanted = goalsets.load(run.path), expected(run, store)
    assert set(wanted[:, GRIP].tolist()) == set(VALUES), "both occur"
    assert (policy.act(states, goals, query) == wanted).all()
    drawn = policy.act(states, goals, query, rng=np.random.default_rng(0))
    assert set(drawn[:, GRIP].tolist()) <= set(VALUES)
    assert policy.act(states[0], goals[0], query)[GRIP] in VALUES
    asker = Asker(load_policy(run.path))  # what the LeRobot policy asks
    asker.ask(goals[0], query)
    ahead = asker.act_ahead(states[:3])
    assert ahead.shape[1] == (1 if run.config.learner == "gcbc" else policy.learner.executed)
    assert set(ahead[..., GRIP].ravel().tolist()) <= set(VALUES)
    (episode, *_) = store.validation
    goal_set = goalsets.GoalSet(goals[0], goalsets.Query.parse(query, arm.LAYOUT))
    said = look_along(episode, goal_set, [policy]).said[0]  # what the playground draws
    assert set(said.actions[:, GRIP].tolist()) <= set(VALUES)


@pytest.mark.full
def test_an_exported_policy_does_the_same(run: Run, store: Store, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    done = export_onnx(run, tmp_path / "policy.onnx")
    assert done.parity.action <= parity.TOLERANCE
    states, goals, query = asked(store)
    policy, wanted = goalsets.runtime.load(done.path), expected(run, store)
    np.testing.assert_allclose(policy.act(states, goals, query), wanted, atol=1e-3)
    assert (policy.act(states, goals, query)[:, GRIP] == wanted[:, GRIP]).all()
    singles = [policy.act(s, g, query)[GRIP] for s, g in zip(states, goals, strict=True)]
    assert set(singles) == set(map(np.float32, VALUES))
    assert policy.card["action_bounds"]["switches"] == {"2": list(VALUES)}
    assert policy.card["action_bounds"]["notes"] == []
    # Without goalsets: the graph itself does it.
    session = onnxruntime.InferenceSession(done.path, providers=["CPUExecutionProvider"])
    mask = np.tile(goalsets.Query.parse(query, arm.LAYOUT).mask, (len(states), 1))
    feed = {"observation": states, "goal": goals, "query": mask}
    (raw,) = session.run(["action"], feed)
    assert set(raw[..., GRIP].ravel().tolist()) == set(VALUES)


def test_parity_knows_rounding_from_a_mistake() -> None:
    ends = np.float32([[-1, 0], [1, 0.04]])
    bounds = Bounds(*ends, "data", {1: VALUES})
    numbers = np.float32([[0.5, 0.01], [0.5, 0.03], [0.5, 0.0199999], [0.5, 0.01], [0.5, np.nan]])
    exported = np.float32([[0.5, 0], [0.4, 0.04], [0.5, 0.04], [0.5, 0.04], [0.5, 0.04]])
    found = parity.apart(numbers, exported, bounds)
    np.testing.assert_allclose(found[:, 0], [0, 0.1, 0, 0, 0], atol=1e-7)
    assert found[:2, 1].tolist() == [0, 0]
    assert found[2, 1] == pytest.approx(1e-7, rel=0.1), "next to the middle, rounding decides"
    assert found[3, 1] == pytest.approx(0.01), "a mistake"
    assert np.isnan(found[4, 1])
    forgot = parity.apart(numbers[:1], numbers[:1], bounds)
    assert forgot[0, 1] == pytest.approx(0.01), "not one of the two values"


@pytest.mark.full
def test_an_export_that_forgets_the_switch_is_not_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WholePolicy, "_snap", lambda _, actions: actions)
    with pytest.raises(ParityError, match=r"exported actions differ .* by 1, more than"):
        export_onnx(run, tmp_path / "policy.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.full
def test_a_check_compares_what_a_robot_would_get(
    run: Run, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of the averages that it compares with: each error is a whole number of mistakes."""
    main(["check", str(run.path), "--data", str(store.path), "--query", "hand & grip"])
    assert "1 question: " in capsys.readouterr().out
    (question,) = json.loads((run.path / "check/check.json").read_text())["questions"]
    overall = question["imitation"]["overall"]
    for name in ("policy", "other_goal", "mean", "look_up", "neighbour"):
        mistakes = overall[name]["components"][GRIP] / VALUES[1] * overall["rows"]
        assert mistakes == pytest.approx(round(mistakes), abs=1e-3), name
        assert round(mistakes) > 0, name


def test_other_trainers_act_by_the_stores_switches(store: Store, tmp_path: Path) -> None:
    again = write_store(
        tmp_path / "s", recorded(4, 0), layout=arm.LAYOUT, limits=Limits(switches=(GRIP,))
    )
    data = RelabeledData.from_store(again)
    assert data.action([[1, 0.1, 0.019], [1, 0.1, 0.021]])[:, GRIP].tolist() == list(VALUES)
    batch = data.sample(200)["actions"][:, GRIP]
    assert len(np.unique(np.round(batch, 5))) == 2, "training sees what was logged"
    standardised = RelabeledData.from_store(again, standardised=True)
    assert set(standardised.action(np.zeros((2, 3)))[:, GRIP].tolist()) <= set(VALUES)


# --- Who declares them, and what is kept ---


def test_the_store_or_the_training_declares_them(store: Store, tmp_path: Path) -> None:
    declared = write_store(
        tmp_path / "s", recorded(4, 0), layout=arm.LAYOUT, limits=Limits(switches=(GRIP,))
    )
    for place, settings, found in (
        ("store", {}, {GRIP: VALUES}),
        ("none", {"action_switches": []}, {}),
        ("wide", {"action_high": (100, 10, 1), "action_low": (-100,)}, {GRIP: VALUES}),
    ):
        made = train(small(declared, steps=1, **settings), declared, tmp_path / place)
        assert made.frame.bounds.switches == Run.open(made.path).frame.bounds.switches == found
    assert made.frame.bounds.high[GRIP] == 1
    for settings, message in (
        ({"action_switches": [3]}, "there is no action 3 that could be a switch: actions have 3"),
        ({"action_switches": [0, 2]}, "action 0 is not a switch: the data has more than two val"),
        ({"action_high": (0.02,), "action_low": (-9,)}, "action 2 is a switch, and its values in"),
    ):
        with pytest.raises(BoundsError, match=message):
            train(small(declared, **settings), declared, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


@pytest.mark.full
def test_the_command_takes_them(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", str(store.path), "--preset", "small", "--steps", "2", "--threads", "1"]
    command += ["--hidden", "16", "--horizon", "20"]
    place = str(tmp_path / "run")
    main([*command, "--output", place, "--action-switches", "2"])
    assert ", 0 or 0.04, from the data" in capsys.readouterr().err
    assert Run.open(place).config.action_switches == (GRIP,)
    main([*command, "--output", str(tmp_path / "none"), "--action-switches"])
    assert Run.open(tmp_path / "none").config.action_switches == ()
    for wrong, message in (("7", "error: there is no action 7"), ("1", "error: action 1 is not a")):
        with pytest.raises(SystemExit):
            main([*command, "--output", str(tmp_path / "x"), "--action-switches", wrong])
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, "--output", place, "--resume"])
    assert "action_switches is (2,), not None" in capsys.readouterr().err


def test_configurations_and_their_names(store: Store) -> None:
    config = small(store, action_switches=[5, 2, 5])
    assert config.action_switches == (2, 5)
    assert TrainConfig.from_json(config.to_json()) == config
    before = {k: v for k, v in small(store).plain().items() if k != "action_switches"}
    assert TrainConfig.from_plain(before) == small(store)
    # As it was named before there were switches.
    task = TrainConfig("cube-single-noisy-v0")
    assert Job(task).name == "cube-single-noisy-v0/gcbc-gs-blockwise-fb791b87-s0"
    names = {Job(dataclasses.replace(task, action_switches=s)).name for s in (None, (), (2,))}
    assert len(names) == 3
    with pytest.raises(goalsets.GoalsetsError, match="action_switches"):
        small(store, action_switches=[0.5])


def test_a_damaged_frame_is_named(run: Run, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(run.path, tmp_path / "run")
    frame = tmp_path / "run/frame.safetensors"
    with safe_open(frame, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        told = {k: v for k, v in file.metadata().items() if k != "digest"}
    assert json.loads(told["action_switches"]) == {"2": list(VALUES)}
    for wrong in ("{", '{"3": [0, 1]}', '{"2": [1, 0]}', '{"2": "on"}', "[]"):
        save_file(tensors, frame, {**told, "action_switches": wrong})
        with pytest.raises(RunError, match="frame.safetensors: 'action_switches'"):
            Run.open(tmp_path / "run")
