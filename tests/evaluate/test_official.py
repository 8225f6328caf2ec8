"""Official evaluation: the same episodes whoever runs them, and records that say everything."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest

from goalsets import GoalsetsError
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.alongside import Alongside
from goalsets.evaluate.official import evaluate_official, official_specs
from goalsets.evaluate.rollout import EpisodeSpec, make_runner, run_episode
from goalsets.evaluate.stats import Rate
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run
from goalsets.train.session import Pace, train

TASK = "tabletop-single-v0"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    place = tmp_path_factory.mktemp("official")
    store = write_store(
        place / "data", list(record_play(40, 100, seed=2).episodes()), layout=tabletop_layout(1)
    )
    config = TrainConfig(TASK, steps=60, batch_size=128, hidden=64, learning_rate=2e-3)
    return train(config, store, place / "run", pace=Pace(keep_every=30))


@pytest.mark.full
def test_workers_do_not_change_results(run: Run) -> None:
    records = [evaluate_official(run, episodes=3, workers=count) for count in (1, 3)]
    assert records[0]["episodes"] == records[1]["episodes"]
    assert len(records[0]["episodes"]) == 15
    kept = [record for record in run.evaluations() if record["num_episodes"] == 15]
    assert [record["episodes"] for record in kept[-2:]] == [r["episodes"] for r in records]
    assert records[0]["step"] == 60
    assert records[0]["training_seconds"] > 0
    by_hand = sum(e["success"] for e in records[0]["episodes"]) / 15
    assert math.isclose(records[0]["success"], by_hand)


@pytest.mark.full
def test_evaluations_alongside(run: Run) -> None:
    evaluations = Alongside(run, episodes=1, workers=1)
    for step in (30, 60, 30):
        evaluations.add(step)
    while not evaluations.wait(1.0):
        pass
    steps = [r["step"] for r in run.evaluations() if r["num_episodes"] == 5]
    assert steps.count(30) == 1, evaluations.log.read_text()
    # What is recorded already is not evaluated again.
    again = Alongside(run, episodes=1, workers=1)
    again.add(30)
    assert again.left == 0


def test_an_episode_is_its_specification(run: Run) -> None:
    """A runner that has run others before gives the same answer as a fresh one."""
    spec = EpisodeSpec(TASK, 2, 17, trace=True)
    used, fresh = make_runner(run.path, None), make_runner(run.path, None)
    used(EpisodeSpec(TASK, 4, 3))
    left, right = used(spec), fresh(spec)
    assert (left.success, left.steps) == (right.success, right.steps)
    assert left.trace is not None
    assert right.trace is not None
    assert (left.trace["observations"] == right.trace["observations"]).all()
    assert left.trace["actions"].shape == (left.steps, 5)
    assert len(left.trace["observations"]) == left.steps + 1


def test_a_goal_that_holds_already_takes_no_step(run: Run) -> None:
    env, policy = TASKS[TASK].open(), run.load()[0]
    start, _ = env.start(1, 5)
    goal = tuple(map(float, start))
    result = run_episode(env, policy, EpisodeSpec(TASK, 1, 5, "cube_pos", goal, trace=True))
    assert result.success
    assert result.steps == 0


def test_a_goal_of_ones_own_is_judged_by_its_goal_set(run: Run) -> None:
    """An episode goes on for the whole horizon, whatever the environment thinks of it."""
    env, policy = TASKS[TASK].open(), run.load()[0]
    start, _ = env.start(1, 5)
    goal = start.copy()
    goal[6:9] = 40.0  # nobody gets there
    result = run_episode(env, policy, EpisodeSpec(TASK, 1, 5, "ee_pos", tuple(map(float, goal))))
    assert not result.success
    assert result.steps == TASKS[TASK].horizon


def test_every_run_is_given_the_same_episodes() -> None:
    specs = official_specs(TASK, 4)
    assert len(set(specs)) == 20
    assert specs == official_specs(TASK, 4)
    assert set(official_specs(TASK, 2)) < set(specs)


def test_what_has_no_environment_is_refused(run: Run) -> None:
    other = Run(run.path, TrainConfig("my-robot", horizon=5), run.frame, run.data)
    with pytest.raises(GoalsetsError, match="'my-robot', which has no environment"):
        evaluate_official(other)
    with pytest.raises(GoalsetsError, match="episodes must be 1 or more"):
        evaluate_official(run, episodes=0)


@pytest.mark.parametrize(("successes", "episodes"), [(0, 20), (20, 20), (7, 20), (47, 50), (1, 3)])
def test_interval_is_wilsons(successes: int, episodes: int) -> None:
    expected = binomtest(successes, episodes).proportion_ci(method="wilson")
    low, high = Rate(successes, episodes).interval
    assert math.isclose(low, expected.low, abs_tol=1e-9)
    assert math.isclose(high, expected.high, abs_tol=1e-9)


def test_rates_read_well() -> None:
    assert str(Rate(47, 50)) == "94 % [84, 98]"
    assert str(Rate(0, 0)) == "no episodes"
    assert Rate.of([True, False, True]).value == 2 / 3
