"""A run's planner: learned once, kept with it, and never of other data in silence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import goalsets
from goalsets import Episode, GoalsetsError
from goalsets.data.trajectories import Trajectories
from goalsets.plan import Plan, PlanningPolicy, read_planner
from goalsets.plan.planner_file import PLANNER, PlannerFileError
from goalsets.policy import TrainedPolicy
from goalsets.runs import run as runs
from goalsets.runs.config import TrainConfig
from goalsets.runs.planning import _enough, planner_of
from goalsets.runs.run import Run
from goalsets.train.session import Pace, train
from tests.plan.runs import TASK, copy_of_run, make_store, place, question, store, trained


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    store()
    monkeypatch.setenv("GOALSETS_DATA", str(place() / "data"))
    return copy_of_run(tmp_path / "run")


def same(left: Plan, right: Plan) -> bool:
    return left.found == right.found and [
        (str(a), np.asarray(a.goals.reference).tolist()) for a in left.steps
    ] == [(str(b), np.asarray(b.goals.reference).tolist()) for b in right.steps]


def test_it_is_learned_once_and_kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    learned = planner_of(run, say=told.append)
    assert told[0].startswith("learning a planner from 150 episodes")
    assert "learned a planner in" in told[1]
    assert len(told) == 2
    assert learned.data == store().fingerprint == read_planner(run.path / PLANNER).data
    monkeypatch.setenv("GOALSETS_DATA", "/nowhere")  # now no data is needed
    again = planner_of(run, say=told.append)
    assert len(told) == 2
    for task_id in (2, 4, 5):
        first, goals = question(task_id)
        plan = learned.plan(first, goals)
        assert len(plan.steps) >= 2
        assert same(plan, again.plan(first, goals))


def test_a_policy_plans(run: Run) -> None:
    policy = goalsets.load(run.path).planning(store())
    assert isinstance(policy, PlanningPolicy)
    assert (run.path / PLANNER).exists()
    first, goals = question(4)
    memory = policy.reset()
    assert policy.following(memory) is None
    action = policy.act(first, goals.reference, goals.query, memory=memory)
    following = policy.following(memory)
    assert following is not None
    assert same(following.plan, policy.planner.plan(first, goals))
    # What the policy inside is asked is the first step of the plan, not the whole question.
    step = following.plan.steps[0]
    asked = goalsets.load(run.path).act(first, step.goals.reference, step.goals.query)
    np.testing.assert_array_equal(action, asked)
    # A path is as good as a store.
    assert goalsets.load(run.path).planning(store().path).planner.data == store().fingerprint


def test_other_data_is_never_used_in_silence(run: Run, tmp_path: Path) -> None:
    other = make_store(tmp_path / "other" / "tabletop-double-v0", seed=50)
    told: list[str] = []
    planner = planner_of(run, other, say=told.append)
    assert planner.data == other.fingerprint
    assert f"was learned from other data (fingerprint {other.fingerprint[:8]})" in told[-1]
    # The next to use it is told as well.
    told.clear()
    assert planner_of(run, say=told.append).data == other.fingerprint
    assert len(told) == 1
    assert told[0].startswith("note: the planner in")
    # Whoever names the run's own data gets a planner of that.
    told.clear()
    assert planner_of(run, store(), say=told.append).data == run.data["fingerprint"]
    assert "learned from other data: it is learned again" in told[0]
    assert not any(text.startswith("note") for text in told)


def test_data_that_nobody_named_must_be_the_runs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path / "tabletop-double-v0", seed=50)
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path))
    with pytest.raises(
        GoalsetsError, match="is not the data that it was trained on .* name it: --data"
    ):
        planner_of(run)
    assert not (run.path / PLANNER).exists()


def test_without_data_and_planner_it_says_what_to_do(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path))
    with pytest.raises(GoalsetsError) as told:
        goalsets.load(run.path).planning()
    assert f"has no {PLANNER}, and there is no data to learn one from" in str(told.value)
    assert "'goalsets train tabletop-double-v0' makes it" in str(told.value)


def test_a_damaged_planner_ends_in_a_sentence(run: Run) -> None:
    planner_of(run)
    path = run.path / PLANNER
    whole = path.read_bytes()
    for broken in (b"", whole[:100], whole[: len(whole) // 2], b"\xff" * 64, whole[8:]):
        path.write_bytes(broken)
        with pytest.raises(
            PlannerFileError, match=r"Remove the file, and the planner is learned .* again\."
        ):
            planner_of(run)
    planner_of(run, again=True)
    assert path.read_bytes() == whole


def test_learning_again_gives_the_same(run: Run) -> None:
    planner_of(run)
    whole = (run.path / PLANNER).read_bytes()
    told: list[str] = []
    planner_of(run, again=True, say=told.append)
    assert len(told) == 2
    assert (run.path / PLANNER).read_bytes() == whole


def test_a_shipped_model_is_not_written_to(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MODELS", run.path.parent)
    assert run.shipped
    planner_of(run)
    assert not (run.path / PLANNER).exists()


def test_data_of_another_robot_is_refused(run: Run, tmp_path: Path) -> None:
    from tests.evaluate.conftest import make_store as single

    with pytest.raises(GoalsetsError, match="has states of 18 coordinates, but the policy needs"):
        planner_of(run, single(tmp_path / "single"))


def test_a_policy_of_no_run_says_so() -> None:
    policy = trained().load()[0]
    alone = TrainedPolicy(policy.learner, policy.layout, trained().frame.normaliser)
    with pytest.raises(GoalsetsError, match="comes from no run directory"):
        alone.planning()


def test_a_planner_of_much_data_is_learned_from_evenly_spread_episodes() -> None:
    episodes = [
        Episode(np.full((5, 2), number, np.float32), np.zeros((4, 1), np.float32))
        for number in range(20)
    ]
    observations, offsets = _enough(Trajectories.from_episodes(episodes), 30)
    assert offsets.tolist() == [0, 5, 10, 15, 20, 25]
    assert observations[::5, 0].tolist() == [0, 4, 8, 12, 16]
    assert _enough(Trajectories.from_episodes(episodes), 100)[1].tolist()[-1] == 100


@pytest.mark.parametrize("scheme", ["her-full", "her-task"])
def test_policies_that_hear_no_query_are_shown_waypoints(scheme: str, tmp_path: Path) -> None:
    """Each step of a plan shows them a whole state in which the step is done."""
    config = TrainConfig(TASK, scheme=scheme, steps=2, batch_size=16, hidden=16)
    run = train(config, store(), tmp_path / "run", pace=Pace())
    policy = goalsets.load(run.path)
    first, goals = question(4)
    heard: list[np.ndarray] = []
    act = policy.act

    def listen(observation: np.ndarray, goal: np.ndarray, query: object, **rest: object) -> object:
        heard.append(goal[policy.hears(query)])
        return act(observation, goal, query, **rest)

    policy.act = listen
    planned = policy.planning(store())
    memory = planned.reset()
    planned.act(first, goals.reference, goals.query, memory=memory)
    following = planned.following(memory)
    assert following is not None
    step = following.plan.steps[0]
    assert step.aside  # a block is put out of the way: the goal itself is not shown
    shown = policy.hears(goals.query)
    assert np.array_equal(heard[0], np.asarray(step.goals.reference)[shown])
    assert not np.array_equal(heard[0], np.asarray(goals.reference)[shown])
