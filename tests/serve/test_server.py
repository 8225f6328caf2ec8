"""A real server in a process of its own: its answers are the policy's, bit by bit."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request

import numpy as np
import pytest
from websockets.sync.client import connect

import goalsets
from goalsets import GoalSet, Query
from goalsets.data.store import Store
from goalsets.runs.run import Run
from goalsets.serve.client import Client, ClientError
from goalsets.serve.server import bind
from tests.serve.conftest import Server

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def states(store: Store) -> np.ndarray:
    return store.validation.observations[:40]


def test_answers_are_the_policys_own(server: Server, robot: Run, states) -> None:
    policy, goal = goalsets.load(robot.path), states[30]
    with Client(server.url, "robot") as client:
        for query in ("task", "block0_pos & eff_pos:2cm", "all - joint_vel", "[3]"):
            for observation in (states[0], states[:5], states):
                expected = policy.act(observation, goal, query)
                found = client.act(observation, goal, query)
                np.testing.assert_array_equal(found, expected)
                far = policy.distance(observation, goal, query)
                np.testing.assert_array_equal(client.distance(observation, goal, query), far)
        pairs = client.act(states, states[::-1], "all")
        np.testing.assert_array_equal(pairs, policy.act(states, states[::-1], "all"))


def test_check_is_the_goal_set(server: Server, robot: Run, states) -> None:
    layout = robot.frame.layout
    with Client(server.url, "robot") as client:
        for query in ("task", "eff_pos:9cm", "all"):
            goals = GoalSet(states[3].astype(np.float64), Query.parse(query, layout))
            told = client.check(states, states[3], query)
            assert told.contains == goals.contains(states.astype(np.float64)).tolist()
        one = client.check(states[20], states[3], "eff_pos", {"eff_pos": "1mm"})
        assert one.contains is False
        assert one.terms[0]["tolerance_in_unit"] == pytest.approx(0.001)
        assert one.terms[0]["unit"] == "m"
        by_name = client.check(states[20], {"eff_pos": states[20][12:15]}, "eff_pos")
        assert by_name.terms[0]["name"] == "eff_pos"


def test_models_are_described(server: Server, robot: Run) -> None:
    with Client(server.url) as client:
        assert [m["name"] for m in client.models()] == ["robot", "full"]
        told = client.model("robot")
        assert (told["learner"], told["step"], told["action_dim"]) == ("gcdl", 6, 5)
        assert told["distance"] == "steps"
        assert told["card"]["data"]["fingerprint"] == robot.data["fingerprint"]
        with Client(server.url, "robot") as other:
            assert other.layout() == robot.frame.layout
        assert client.model("full")["answers"].startswith("the full state")
        # Nothing says where the run lies on the server's disk.
        assert str(robot.path.parent) not in json.dumps(client.models())
        with pytest.raises(ClientError, match="say which model: this server has 'robot', 'full'"):
            client.model()
        with pytest.raises(ClientError, match="unknown model 'robt': did you mean 'robot'") as no:
            client.model("robt")
        assert no.value.status == 404


def test_a_session_changes_its_question(server: Server, robot: Run, states) -> None:
    policy, layout = goalsets.load(robot.path), robot.frame.layout
    with Client(server.url, "robot") as client:
        with client.session(states[30], "block0_pos", distance=True) as session:
            np.testing.assert_array_equal(
                session.act(states[0]), policy.act(states[0], states[30], "block0_pos")
            )
            far = policy.distance(states[0], states[30], "block0_pos")
            assert np.float32(session.distance) == far
            session.act(states[30])
            assert session.reached is True
            session.ask(query="eff_pos & eff_yaw", distance=False)  # the goal stays
            assert (session.query, session.reached, session.distance) == (
                "eff_pos & eff_yaw",
                None,
                None,
            )
            for state in states:
                action = session.act(state)
                expected = policy.act(state, states[30], "eff_pos & eff_yaw")
                np.testing.assert_array_equal(action, expected)
                judge = GoalSet(states[30], Query.parse("eff_pos & eff_yaw", layout))
                assert session.reached == bool(judge.contains(state))
            session.ask(goal=states[7])  # the query stays
            np.testing.assert_array_equal(
                session.act(states[0]), policy.act(states[0], states[7], "eff_pos & eff_yaw")
            )


def test_an_error_leaves_the_question_as_it_was(server: Server, robot: Run, states) -> None:
    policy = goalsets.load(robot.path)
    with Client(server.url, "robot") as client:
        with client.session({"block0_pos": [0.1, 0.2, 0.3]}, "block0_pos") as session:
            before = session.act(states[0])
            with pytest.raises(ClientError, match=r"coordinate \d+ \(eff_pos\), which the query"):
                session.ask(query="eff_pos")
            with pytest.raises(ClientError, match="unknown group 'blok0_pos'"):
                session.ask(query="blok0_pos")
            glitch = states[0].copy()
            glitch[13] = np.nan
            with pytest.raises(ClientError, match=r"coordinate 13 \(\w+\) is NaN"):
                session.act(glitch)
            np.testing.assert_array_equal(session.act(states[0]), before)
            session.ask(model="full", goal=states[3], query="eff_pos")
            assert "more of the reference" in session.doubts[0]
            assert not np.array_equal(session.act(states[0]), before)
    assert not np.array_equal(before, policy.act(states[0], states[3], "block0_pos"))


def test_messages_of_a_session(server: Server, states) -> None:
    """The protocol itself, without our client."""
    observe = {"type": "observe", "observation": states[0].tolist(), "id": 7}
    with connect(server.ws, proxy=None) as ws:

        def exchange(message: object) -> dict:
            ws.send(json.dumps(message))
            return json.loads(ws.recv(10))

        early = exchange(observe)
        assert (early["type"], early["error"]["code"], early["id"]) == ("error", "no_question", 7)
        partial = exchange({"type": "ask", "model": "robot", "query": "task"})
        assert "needs a goal and a query" in partial["error"]["message"]
        ask = {"type": "ask", "model": "robot", "query": "[3]", "goal": states[1].tolist()}
        asked = exchange(ask)
        assert asked["type"] == "asked"
        acted = exchange(observe)
        assert set(acted) == {"type", "action", "reached", "id"}
        # Many at once are answered in order.
        for i in range(50):
            ws.send(json.dumps({**observe, "id": i}))
        assert [json.loads(ws.recv(10))["id"] for _ in range(50)] == list(range(50))


def test_a_second_process_needs_no_torch(server: Server, robot: Run, states) -> None:
    program = f"""
        import sys
        import numpy as np
        from goalsets.serve.client import Client

        state = np.array({states[0].tolist()}, dtype=np.float32)
        with Client("{server.url}", "robot") as client, client.session(state, "all") as session:
            print(*session.act(state), session.reached)
        assert not {{"torch", "fastapi", "pydantic", "uvicorn"}} & set(sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    *action, reached = done.stdout.split()
    expected = goalsets.load(robot.path).act(states[0], states[0], "all")
    np.testing.assert_array_equal(np.array(action, dtype=np.float32), expected)
    assert reached == "True"


def test_information(server: Server) -> None:
    def get(path: str) -> str:
        with urllib.request.urlopen(server.url + path, timeout=10) as answer:
            return answer.read().decode()

    assert json.loads(get("/healthz")) == {"status": "ok"}
    described = json.loads(get("/openapi.json"))
    asked = {"/v1/act", "/v1/check", "/v1/plan"}
    paths = {*asked, "/v1/model", "/v1/models", "/healthz", "/metrics"}
    assert set(described["paths"]) == paths
    before, after = ("goalsets_requests_total", get("/metrics")), get("/metrics")
    assert before[0] in before[1]
    count = 'goalsets_requests_total{endpoint="/metrics",status="200"}'
    found = dict(line.rsplit(" ", 1) for line in after.splitlines() if line[0] != "#")
    assert float(found[count]) >= 1


def test_client_says_what_is_wrong() -> None:
    with pytest.raises(ClientError, match="does not answer") as no:
        Client("http://127.0.0.1:9", timeout=5).models()
    assert no.value.code == "unreachable"
    with pytest.raises(goalsets.GoalsetsError, match="expected a URL such as"):
        Client("127.0.0.1:8000")
    with pytest.raises(ClientError, match="does not answer"):
        Client("http://127.0.0.1:9").session([0.0], "all")


def test_client_connects_again_when_the_server_let_go(server: Server, states) -> None:
    with Client(server.url, "robot") as client:
        first = client.act(states[0], states[1], "all")
        connection = client._connection
        assert connection is not None
        # What a client sees of a server that let an idle connection go.
        connection.sock.shutdown(socket.SHUT_RDWR)
        np.testing.assert_array_equal(client.act(states[0], states[1], "all"), first)
        assert client._connection is not connection


def test_answers_do_not_wait_for_acknowledgements(server: Server, states) -> None:
    """The parts of an answer are sent at once; held back, each would take 40 ms or more."""
    times: list[float] = []
    with Client(server.url, "robot") as client:
        for _ in range(60):
            start = time.perf_counter()
            client.act(states[0], states[1], "all")
            times.append(time.perf_counter() - start)
    # A new connection acknowledges everything at first; and a busy machine may delay some.
    assert min(times[40:]) < 0.035


def test_a_port_that_is_taken(server: Server) -> None:
    with pytest.raises(goalsets.GoalsetsError, match="cannot listen on 127.0.0.1.*in use"):
        bind(*server.address)
    with pytest.raises(goalsets.GoalsetsError, match="cannot listen on no.such.host.invalid"):
        bind("no.such.host.invalid", 0)
