"""The whole way of somebody with logs and no simulator, in the log's own units.

Import, look, train, check, export, act and serve, by the commands that a person types; for files of
four kinds, each written by its own tool.
"""

from __future__ import annotations

import dataclasses
import json
import signal
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import goalsets
import goalsets.runtime
from goalsets.cli import main
from goalsets.core import Query, read_layout
from goalsets.data.store import Store
from goalsets.runs.run import Run
from tests import with_lerobot
from tests.processes import started
from tests.walk import robot

pytestmark = pytest.mark.full

TOPICS = ["--observations", "/joints.position", "/tool.position", "/gripper.data"]


@dataclasses.dataclass(frozen=True)
class Way:
    """A kind of log."""

    write: Callable[[Path], Path]
    options: tuple[str, ...]
    """Of the import."""
    joints: str
    """What asks for all joints."""
    joint: str
    """What asks for one of them, or for both, within 5 degrees."""
    limits: str
    """Where the bounds of actions come from."""
    training: tuple[str, ...] = ()
    """Options of the training."""


WAYS = {
    "lerobot": Way(
        robot.write_lerobot,
        ("--units", "joint*=deg", "tool=m"),
        "state - gripper.pos",
        "joint_2.pos:5deg",
        "from the data, widened by a tenth of its range at either end",
    ),
    "minari": Way(
        robot.write_minari,
        ("--rate", "20", "--units", "joints=deg"),
        "joints",
        "joints:5deg",
        "from the action space",
    ),
    "csv": Way(
        robot.write_csv,
        (),
        "joint_1_deg & joint_2_deg",
        "joint_2_deg:5deg",
        "from the data, widened by a tenth of its range at either end",
        ("--action-switches", "2"),
    ),
    "ros": Way(
        robot.write_mcap,
        (*TOPICS, "--actions", "/command.data", "--rate", "20", "--units", "joints*=deg"),
        "joints.position",
        "joints.position:5deg",
        "from the data, widened by a tenth of its range at either end",
    ),
}


@dataclasses.dataclass(frozen=True)
class Walked:
    """A run that was made by commands, and what they said."""

    way: Way
    run: Run
    store: Store
    said: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("walk")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(place / "minari-home"))
        yield place


@pytest.fixture(scope="module")
def made() -> dict[str, Walked]:
    return {}


@pytest.fixture(params=WAYS)
def walked(
    request: pytest.FixtureRequest,
    place: Path,
    made: dict[str, Walked],
    capfd: pytest.CaptureFixture[str],
) -> Walked:
    return walk(request.param, place, made, capfd)


def walk(
    kind: str, place: Path, made: dict[str, Walked], capfd: pytest.CaptureFixture[str]
) -> Walked:
    """Import, look and train; once for all tests."""
    if kind in made:
        return made[kind]
    way, store, run = WAYS[kind], place / f"{kind}-store", place / f"{kind}-run"
    log = way.write(place / kind)
    main(["data", "import", kind, str(log), "--output", str(store), *way.options])
    main(["data", "inspect", str(store)])
    size = ["--steps", "300", "--batch-size", "256", "--hidden", "64", "--threads", "1"]
    main(["train", str(store), "--preset", "small", *size, "--output", str(run), *way.training])
    out, errors = capfd.readouterr()
    made[kind] = Walked(way, Run.open(run), Store.open(store), out + errors)
    return made[kind]


def test_what_people_are_told_on_the_way(walked: Walked) -> None:
    said, way = walked.said, walked.way
    assert said.count(way.limits) == 3, "the import, the inspection and the training say it"
    assert "note: action 2 has two values, 0 and 1: a switch?" in said
    assert "--action-switches 2 makes policies answer 0 or 1." in said
    assert (", 0 or 1, from the data" in said) == bool(way.training), "the training says it"
    assert "20 steps a second: episodes of" in said
    assert "goals lie up to" in said
    assert " s) ahead" in said, "the horizon is told in seconds"
    assert f"next: goalsets check {walked.run.path}" in said
    assert "(assumed)" not in said, "a proposed tolerance is in force"


def test_the_store_holds_what_was_recorded(walked: Walked) -> None:
    columns = list(Query.parse(walked.way.joints, walked.store.layout).indices)
    recorded, episodes = robot.episodes(), list(walked.store.validation)
    assert len(episodes) == 4
    for episode in episodes:
        seen, steps = episode.observations[:, columns], len(episode.actions)
        assert steps >= robot.STEPS - 1, "at most the last action is dropped"
        joints, _, commands = next(log for log in recorded if np.allclose(log[0][0], seen[0]))
        np.testing.assert_allclose(seen, joints[: steps + 1], atol=1e-3)
        np.testing.assert_allclose(episode.actions, commands[:steps], atol=1e-3)


def test_everything_can_be_asked_as_it_was_imported(
    walked: Walked, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without an edit of the layout; in degrees; with the tolerances that the file proposes."""
    layout = walked.run.frame.layout
    file = walked.store.path.with_name(walked.store.path.name + ".layout.yaml")
    assert read_layout(file) == walked.store.layout == layout, "what the file proposes is in force"
    assert all(group.tolerance is not None for group in layout.groups)
    queries = ["--query", walked.way.joints, walked.way.joint]
    main(["check", str(walked.run.path), "--data", str(walked.store.path), *queries])
    out = capfd.readouterr().out
    assert "2 questions: " in out
    told = json.loads((walked.run.path / "check/check.json").read_text())
    assert told["rate"] == 20
    for question in told["questions"]:
        assert question["note"] == "", "a tolerance had to be assumed"
        assert question["verdict"]["word"] in ("go", "caution", "no-go")
    (term,) = (t for t in Query.parse(walked.way.joint, layout).terms)
    assert term.tolerance == pytest.approx(5.0)


def held_out(walked: Walked) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Held-out states, where the data was when it had reached its target, and what it did."""
    states, goals, actions = [], [], []
    for episode in walked.store.validation:
        rows = np.arange(len(episode.actions) - robot.TARGET)
        ends = (rows // robot.TARGET + 1) * robot.TARGET
        states.append(episode.observations[rows])
        goals.append(episode.observations[ends])
        actions.append(episode.actions[rows])
    return np.concatenate(states), np.concatenate(goals), np.concatenate(actions)


def test_the_exported_policy_acts_in_degrees(
    walked: Walked, capfd: pytest.CaptureFixture[str]
) -> None:
    file = walked.run.path / "policy.onnx"
    main(["export", str(walked.run.path), "--output", str(file)])
    assert "parity    actions within" in capfd.readouterr().out
    policy = goalsets.runtime.load(file)
    states, goals, logged = held_out(walked)
    acted = policy.act(states, goals, walked.way.joints)
    np.testing.assert_allclose(
        acted, goalsets.load(walked.run.path).act(states, goals, walked.way.joints), atol=1e-3
    )
    seen = walked.store.trajectories.actions
    room = 0.1 * np.ptp(seen, axis=0) + 1e-3
    assert (acted >= seen.min(0) - room).all()
    assert (acted <= seen.max(0) + room).all()
    joints = list(Query.parse(walked.way.joints, policy.layout).indices)
    error = np.abs(acted - logged)[:, :2].mean()
    still = np.abs(states[:, joints] - logged[:, :2]).mean()
    assert still > 5, "the log moves"
    assert error < still, f"{error:.1f} degrees off; holding still is {still:.1f} off"
    bounds = policy.card["action_bounds"]
    assert bounds["from"] == walked.way.limits
    np.testing.assert_allclose(bounds["high"], walked.run.frame.bounds.high)
    if walked.way.training:
        assert set(acted[:, 2].tolist()) == {0.0, 1.0}
        assert (bounds["switches"], bounds["notes"]) == ({"2": [0.0, 1.0]}, [])
    else:
        assert len(set(acted[:, 2].tolist())) > 2, "numbers between"
        assert bounds["notes"][0].startswith("action 2 has two values, 0 and 1")
    assert policy.card["rate"] == 20


def test_a_server_answers_in_degrees(
    place: Path, made: dict[str, Walked], capfd: pytest.CaptureFixture[str]
) -> None:
    """One server with the models of all kinds of logs that can be written here."""
    kinds = [kind for kind in WAYS if kind != "lerobot" or with_lerobot.MISSING is None]
    ways = {kind: walk(kind, place, made, capfd) for kind in kinds}
    words = [f"{kind}={walked.run.path}" for kind, walked in ways.items()]
    says = r"serving on (\S+);"
    with started("serve", *words, says=says, stop=signal.SIGTERM, variables={}) as server:
        for kind, walked in ways.items():
            states, goals, _ = held_out(walked)
            answer = _post(
                f"{server.url}/v1/act",
                {
                    "model": kind,
                    "observation": states[0].tolist(),
                    "goal": goals[0].tolist(),
                    "query": walked.way.joint,
                },
            )
            expected = goalsets.load(walked.run.path).act(states[0], goals[0], walked.way.joint)
            np.testing.assert_allclose(answer["action"], expected, atol=1e-3)
        with urllib.request.urlopen(f"{server.url}/v1/models") as reply:
            cards = {model["name"]: model["card"] for model in json.load(reply)["models"]}
        for kind, walked in ways.items():
            assert cards[kind]["action_bounds"]["from"] == walked.way.limits


def _post(url: str, message: dict[str, object]) -> dict[str, object]:
    request = urllib.request.Request(
        url, json.dumps(message).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)
