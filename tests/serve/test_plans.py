"""Plans over the wire: they are the planner's own, and a session tells where it is in one."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.sync.client import connect

import goalsets
from goalsets import GoalSet, GoalsetsError, Query
from goalsets.plan import PlanningPolicy, read_planner
from goalsets.plan.planner_file import PLANNER
from goalsets.runs.run import Run
from goalsets.serve import plans
from goalsets.serve.client import Client, ClientError
from goalsets.serve.models import open_models
from tests.planned import SWAP, TASK, off_the_table, planned_run
from tests.serve.conftest import Server, start

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on two blocks, with a planner."""
    return planned_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def planning(double: Run, robot: Run) -> Iterator[Server]:
    with start(f"double={double.path}", f"robot={robot.path}") as started:
        yield started


@pytest.fixture
def client(planning: Server) -> Iterator[Client]:
    with Client(planning.url, "double") as opened:
        yield opened


def begin(task_id: int) -> tuple[np.ndarray, np.ndarray]:
    world = TASK.open()
    started = world.start(task_id, 0)
    world.close()
    return started.observation, started.goal


def having(state: np.ndarray, values: dict[str, np.ndarray]) -> np.ndarray:
    """A state with other values of some groups."""
    state = state.copy()
    for name, numbers in values.items():
        state[list(TASK.layout.group(name).indices)] = numbers
    return state


def test_a_plan_is_the_planners_own(client: Client, double: Run) -> None:
    state, goal = begin(SWAP)
    expected = read_planner(double.path / PLANNER).plan(state, GoalSet(goal, TASK.query))
    plan = client.plan(state, goal, "task")
    assert plan.found
    assert plan.explain() == expected.explain()
    assert plan.price == pytest.approx(expected.price)
    assert (plan.due, plan.plans) == (0, 1)
    assert [step.words for step in plan.steps] == [str(step) for step in expected.steps]
    assert [step.state for step in plan.steps] == ["due", "to come", "to come"]
    assert [step.aside for step in plan.steps] == [True, False, False]
    for found, step in zip(plan.steps, expected.steps, strict=True):
        (name,) = found.values
        assert found.query == str(step.goals.query) == name
        columns = list(TASK.layout.group(name).indices)
        np.testing.assert_allclose(found.values[name], step.goals.reference[columns])
        assert (found.parts, found.support) == (step.parts, step.support)
    # A goal by names is enough, and tolerances count.
    blocks = {n: goal[list(TASK.layout.group(n).indices)] for n in ("block0_pos", "block1_pos")}
    named = client.plan(state, blocks, "task", {"block0_pos": "3cm"})
    assert [step.parts for step in named.steps] == [step.parts for step in plan.steps]
    assert any("block0_pos:0.3" in step.query for step in named.steps)
    there = client.plan(having(state, blocks), goal, "task")
    assert (there.found, there.steps, there.due) == (True, (), None)


def test_where_there_is_no_plan_a_sentence_says_why(client: Client) -> None:
    state, goal = begin(SWAP)
    plan = client.plan(state, off_the_table(goal), "task")
    assert not plan.found
    assert plan.steps == ()
    assert "no move of block0 in the data is like this one" in plan.missing
    assert plan.missing in plan.explain()


def test_what_cannot_be_planned_is_refused(planning: Server, client: Client) -> None:
    state, goal = begin(SWAP)
    assert client.model()["plans"] is True
    with Client(planning.url, "robot") as other:
        assert other.model()["plans"] is False
        with pytest.raises(ClientError, match="model 'robot' has no planner") as no:
            other.plan(np.zeros(18), np.zeros(18), "task")
        assert (no.value.code, no.value.status) == ("no_planner", 422)
        with pytest.raises(ClientError, match="model 'robot' has no planner"):
            other.session(np.zeros(18), "task", plan=True)
    with pytest.raises(ClientError, match="expected one goal, got a batch"):
        client.plan(state, goal[None], "task")
    with pytest.raises(ClientError, match="needs 23 coordinates"):
        client.plan(state[:4], goal, "task")
    with pytest.raises(ClientError, match="observation has numbers beyond"):
        client.plan(np.full_like(state, 1e30), goal, "task")
    with pytest.raises(ClientError, match="goal has numbers beyond"):
        client.session(np.full_like(goal, -1e30), "task", plan=True)
    with pytest.raises(ClientError, match="goal leaves open"):
        client.plan(state, {"block0_pos": [0.0, 0.0, 0.2]}, "task")


def test_a_session_follows_its_plan_and_tells_it(client: Client, double: Run) -> None:
    state, goal = begin(SWAP)
    policy = PlanningPolicy(goalsets.load(double.path), read_planner(double.path / PLANNER))
    memory = policy.reset()

    def act(seen: np.ndarray) -> None:
        expected = policy.act(seen, goal, TASK.query, memory=memory)
        np.testing.assert_array_equal(session.act(seen), expected)

    with client.session(goal, "task", plan=True, distance=True) as session:
        assert session.plan is None
        act(state)
        first = session.plan
        assert session.plan_changed
        assert first is not None
        assert [step.state for step in first.steps] == ["due", "to come", "to come"]
        assert session.distance is not None
        act(state)
        assert not session.plan_changed
        assert session.plan is first
        # Each step is told when it is done.
        for number in range(3):
            state = having(state, dict(first.steps[number].values))
            act(state)
            assert session.plan_changed
            done = ["done"] * (number + 1)
            assert [step.state for step in session.plan.steps][: number + 1] == done
            assert session.reached is (number == 2)
        assert (session.plan.due, session.plan.plans) == (None, 1)
        # What was done is lost: a new plan.
        state = having(state, {"block0_pos": np.array([1.2, -1.2, 0.2])})
        for _ in range(40):
            act(state)
            if session.plan_changed:
                break
        assert session.plan.plans == 2
        assert session.plan.due == 0


def test_a_plan_may_be_asked_for_and_dropped_at_any_time(client: Client, double: Run) -> None:
    state, goal = begin(SWAP)
    policy = goalsets.load(double.path)
    with client.session(goal, "task") as session:
        at_once = session.act(state)
        assert session.plan is None
        np.testing.assert_array_equal(at_once, policy.act(state, goal, "task"))
        session.ask(plan=True)
        session.act(state)
        assert len(session.plan.steps) == 3
        session.ask(query="block0_pos")  # the plan stays wanted, and is another
        assert session.plan is None
        session.act(state)
        assert session.plan.steps[-1].parts == ("block0",)
        with pytest.raises(ClientError, match="unknown group"):
            session.ask(query="blok0_pos", plan=False)
        session.act(state)
        assert session.plan is not None
        session.ask(query="task", plan=False)
        np.testing.assert_array_equal(session.act(state), at_once)
        assert session.plan is None


def test_messages_with_a_plan(planning: Server) -> None:
    """The protocol itself, without our client."""
    state, goal = begin(SWAP)
    observe = {"type": "observe", "observation": state.tolist(), "id": 3}
    with connect(planning.ws, proxy=None) as ws:

        def exchange(message: object) -> dict:
            ws.send(json.dumps(message))
            return json.loads(ws.recv(10))

        ask = {"type": "ask", "model": "double", "goal": goal.tolist(), "query": "task"}
        assert "plan" in exchange({**ask, "plan": "yes"})["error"]["message"]
        assert exchange({**ask, "plan": True})["type"] == "asked"
        told = exchange(observe)
        assert set(told) == {"type", "action", "reached", "plan", "id"}
        assert set(told["plan"]) == {
            "found", "missing", "steps", "price", "due", "plans", "text"
        }  # fmt: skip
        assert set(exchange(observe)) == {"type", "action", "reached", "id"}
        far = exchange({**observe, "observation": [3e38] * len(state)})
        assert "numbers beyond" in far["error"]["message"]
        # Many at once are answered in order, also from the thread that plans.
        for i in range(30):
            ws.send(json.dumps({**observe, "id": i}))
        assert [json.loads(ws.recv(10))["id"] for _ in range(30)] == list(range(30))


def test_a_plan_that_takes_long_holds_up_nobody(planning: Server, client: Client) -> None:
    state, goal = begin(SWAP)
    ended = threading.Event()

    def plan() -> None:
        with client.session(off_the_table(goal), "task", plan=True) as session:
            for _ in range(3):  # a third of a second each time, and nothing found
                session.ask(plan=True)
                session.act(state)
        ended.set()

    answers = 0
    thread = threading.Thread(target=plan)
    with Client(planning.url, "robot") as other, other.session(np.zeros(18), "all") as loop:
        loop.act(np.zeros(18))
        thread.start()
        while not ended.is_set():
            loop.act(np.zeros(18))
            answers += 1
    thread.join()
    assert answers > 30  # and not one for each plan


def test_planners_are_read_with_suspicion(double: Run, robot: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(double.path, broken)
    (broken / PLANNER).write_bytes(b"nothing")
    with pytest.raises(GoalsetsError, match="is not a planner, or is damaged"):
        open_models([str(broken)])
    other = tmp_path / "other"
    shutil.copytree(robot.path, other)
    shutil.copy(double.path / PLANNER, other / PLANNER)
    with pytest.raises(GoalsetsError, match="the planner is for states of"):
        open_models([str(other)])


def test_evidence_is_remembered_within_bounds(double: Run) -> None:
    planner = read_planner(double.path / PLANNER)
    state, goal = begin(SWAP)
    names = [group.name for group in TASK.layout.groups]
    asked = [f"{one} & {other}" for one in names for other in names if one < other]
    assert len(asked) > 20
    for text in asked:
        planner.plan(state, GoalSet(goal, Query.parse(text, TASK.layout)))
    assert len(planner._evidence) <= 16


def test_whatever_is_planned_gets_an_answer(double: Run) -> None:
    model = open_models([f"double={double.path}"]).find(None)
    width = TASK.layout.dim
    number = st.floats(-1e12, 1e12) | st.floats(-2, 2)
    names = [group.name for group in TASK.layout.groups]

    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(number, min_size=2 * width, max_size=2 * width),
        st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True),
    )
    def fuzz(numbers: list[float], asked: list[str]) -> None:
        state, goal = np.array(numbers[:width]), np.array(numbers[width:])
        try:
            told = plans.make(model, state, GoalSet(goal, model.query(" & ".join(asked))))
        except GoalsetsError:
            return
        json.dumps(told, allow_nan=False)
        assert told["found"] is (told["missing"] is None)

    fuzz()
