"""One question: support, doubts, the episode, its film and its picture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from goalsets import GoalSet, Query
from goalsets.cli import main
from goalsets.data.store import Store
from goalsets.envs.tasks import TASKS
from goalsets.evaluate import camera as cameras
from goalsets.evaluate.ask import ask, doubts, support
from goalsets.evaluate.camera import Camera, find_encoder, write_film
from goalsets.policy import TrainedPolicy
from goalsets.runs.run import Run
from tests.evaluate.conftest import TASK, make_run
from tests.evaluate.real import make_real_run

LAYOUT = TASKS[TASK].layout


def goal_set(store: Store, text: str, row: int = 0) -> GoalSet:
    return GoalSet(store.validation.observations[row], Query.parse(text, LAYOUT))


def test_support_counts_states_and_episodes(store: Store) -> None:
    goals = goal_set(store, "eff_pos")
    found = support(goals, store.validation)
    inside = goals.contains(store.validation.observations)
    assert found.states == inside.sum() > 0
    assert found.episodes == inside.reshape(20, 101).any(axis=1).sum()
    assert (found.all_states, found.all_episodes, found.nearest) == (2020, 20, 0.0)
    assert str(found).startswith(f"{found.states} of 2,020 states, in")


def test_doubts(run: Run, store: Store) -> None:
    near = goal_set(store, "eff_pos")
    assert doubts(near, run.load()[0], support(near, store.train)) == []
    assert doubts(near, run.load()[0], None) == []
    far = GoalSet(near.reference + 50, near.query)
    (told,) = doubts(far, run.load()[0], support(far, store.train))
    assert "no training state answers this question (the nearest is" in told


@pytest.mark.parametrize(
    ("scheme", "told"),
    [("her-task", "does not see all of this question"), ("her-full", "sees more of the reference")],
)
def test_a_baseline_says_what_it_hears(
    scheme: str, told: str, store: Store, tmp_path: Path
) -> None:
    run = make_run(tmp_path / scheme, store, scheme=scheme, steps=1)
    (doubt,) = doubts(goal_set(store, "eff_pos"), run.load()[0], None)
    assert told in doubt
    own = goal_set(store, "task" if scheme == "her-task" else "all")
    assert doubts(own, run.load()[0], None) == []


def test_success_is_latched_at_the_first_step_inside(run: Run, store: Store) -> None:
    env = TASKS[TASK].open()
    first, _ = env.start(1, 0)
    policy = run.load()[0]
    goals = GoalSet(first, Query.parse("eff_pos", LAYOUT))
    answer = ask(env, policy, goals, task=TASK, task_id=1, seed=0)
    assert (answer.success, answer.steps) == (True, 0)
    far = goal_set(store, "eff_pos & eff_yaw & block0_pos:0.01")
    lost = ask(env, policy, far, task=TASK, task_id=1, seed=0)
    assert (lost.success, lost.steps, len(lost.observations)) == (False, 100, 101)
    assert not all(v.satisfied for v in lost.violations)
    # A place on the way counts when it is passed, although the episode would have gone on.
    for place in (10, 30):
        passed = GoalSet(lost.observations[place], far.query)
        inside = passed.contains(lost.observations)
        seen = ask(env, _Towards(policy, far), passed, task=TASK, task_id=1, seed=0)
        assert seen.success
        assert seen.steps == int(np.argmax(inside)) <= place


class _Towards:
    """A policy that has its mind made up, whatever it is asked."""

    def __init__(self, policy: TrainedPolicy, goals: GoalSet) -> None:
        self.layout, self._policy, self._goals = policy.layout, policy, goals

    distance_unit = None

    def reset(self):
        return None

    def act(self, observation, *_, **rest):
        return self._policy.act(observation, self._goals.reference, self._goals.query, **rest)


def test_a_camera_changes_nothing(gcdl: Run, store: Store) -> None:
    goals = goal_set(store, "block0_pos")
    env = TASKS[TASK].open()
    policy = gcdl.load()[0]
    plain = ask(env, policy, goals, task=TASK, task_id=2, seed=3)
    filmed = Camera(env, goals.reference, goals.query)
    seen = ask(filmed, policy, goals, task=TASK, task_id=2, seed=3)
    np.testing.assert_array_equal(plain.observations, seen.observations)
    assert plain.distances is not None
    assert len(plain.distances) == len(plain.observations)
    assert len(filmed.pictures) == 101
    assert len({picture.shape for picture in filmed.pictures}) == 1


def pictures() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 255, (64, 48, 3), dtype=np.uint8) for _ in range(4)]


def test_without_an_encoder_the_film_is_a_gif(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cameras, "find_encoder", lambda: None)
    film, note = write_film(pictures(), tmp_path / "film.mp4")
    assert film.suffix == ".gif"
    assert film.read_bytes().startswith(b"GIF")
    assert note is not None
    assert "there is no MP4 encoder" in note
    assert "pip install 'goalsets[video]'" in note


def test_an_encoder_that_fails_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cameras, "find_encoder", lambda: "false")
    film, note = write_film(pictures(), tmp_path / "film.mp4")
    assert film.suffix == ".gif"
    assert note is not None
    assert "false failed" in note


@pytest.mark.skipif(find_encoder() is None, reason="no MP4 encoder is installed")
def test_film(tmp_path: Path) -> None:
    film, note = write_film(pictures(), tmp_path / "film.mp4")
    assert note is None
    assert b"ftyp" in film.read_bytes()[:16]


GOALS = ["task", "task:3", "bank:17", "bank:block0_pos.z >= 0.3", "goal.json"]


@pytest.mark.full
@pytest.mark.parametrize("goal", GOALS)
def test_command(
    goal: str,
    gcdl: Run,
    store: Store,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("goal.json").write_text(json.dumps({"eff_pos": [0.1, 0.2, 0.5]}))
    arguments = ["ask", str(gcdl.path), "--query", "eff_pos & eff_yaw:20deg", "--goal", goal]
    main([*arguments, "--data", str(store.path), "-o", "out", "--set", "eff_yaw=30deg"])
    printed = capsys.readouterr().out
    for line in ("question   eff_pos & eff_yaw", "support    training:", "predicted  ", "edited"):
        assert line in printed
    assert "violated" in printed or "holds" in printed
    assert {p.name for p in Path("out").iterdir()} > {"answer.json", "distance.png"}
    answer = json.loads(Path("out/answer.json").read_text())
    assert len(answer["goal"]) == LAYOUT.dim
    assert len(answer["predicted"]) == answer["steps"] + 1


@pytest.mark.full
def test_command_without_data_and_without_distance(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path))
    main(["ask", str(run.path), "--no-video"])
    main(["ask", str(run.path), "--no-video"])
    printed = capsys.readouterr().out
    assert "support    unknown: no data was found" in printed
    assert "gcbc learns no distance" in printed
    assert (run.path / "asked" / "002" / "distance.png").exists()
    with pytest.raises(SystemExit):
        main(["ask", str(run.path), "--goal", "bank:1"])
    assert "there is no data for tabletop-single-v0" in capsys.readouterr().err


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["cube-double-play-v0", "scene-play-v0", "antmaze-medium-navigate-v0"]
)
def test_a_state_is_put_where_it_was_seen(name: str) -> None:
    """Of everything but velocities and contact, which a picture does not show."""
    task = TASKS[name]
    env = task.open()
    rng = np.random.default_rng(1)
    env.start(3, 5)
    for _ in range(30):
        state = env.step(rng.uniform(-1, 1, env.action_space.shape).astype(np.float32))[0]
    env.start(1, 0)
    env.put(state)
    found = env.look()
    still = [
        i
        for group in task.layout.groups
        if "vel" not in group.name and "contact" not in group.name
        for i in group.indices
    ]
    np.testing.assert_allclose(found[still], state[still], atol=0.02)


@pytest.mark.full
@pytest.mark.timeout(600)  # software rendering: a hundred pictures
@pytest.mark.parametrize("gl", ["egl", "disable"])
def test_real_environment(gl: str, tmp_path: Path) -> None:
    """A question about a real OGBench task, with OpenGL and without."""
    run, store = make_real_run(tmp_path)
    command = [sys.executable, "-m", "goalsets", "ask", str(run.path), "--data", str(store.path)]
    command += ["--query", "block0_pos", "--goal", "bank:3", "--set", "block0_pos=9,9,9"]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "out")],
        env={**os.environ, "MUJOCO_GL": gl},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warning: no training state answers this question" in done.stdout
    films = list((tmp_path / "out").glob("film.*"))
    if gl == "disable":
        assert "no film: nothing can be drawn here: MuJoCo finds no OpenGL" in done.stdout
        assert not films
    elif "no film" not in done.stdout:  # a machine may have no EGL
        assert films
    assert (tmp_path / "out" / "distance.png").exists()
