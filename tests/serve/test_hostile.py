"""Hostile input: every answer is a clear refusal or a close with a reason; the server stays up."""

from __future__ import annotations

import contextlib
import http.client
import json
import pickle
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from goalsets import GoalsetsError
from goalsets.serve.client import Client
from goalsets.serve.models import open_models
from goalsets.train.run import Run
from tests.serve.conftest import Server
from tests.serve.raw import close_code, connection, exchange, frame, read_all, status, upgrade

full = [pytest.mark.full, pytest.mark.xdist_group("serve")]
ASK = {"type": "ask", "model": "robot", "goal": [0.0] * 18, "query": "all"}


@pytest.fixture
def alive(server: Server) -> Iterator[Server]:
    """The server, which must answer as before when the test is over."""
    with Client(server.url, "robot") as client:
        before = client.act(np.zeros(18), np.ones(18), "all")
        yield server
        np.testing.assert_array_equal(client.act(np.zeros(18), np.ones(18), "all"), before)


# --- HTTP ---

STATE = json.dumps([0.0] * 18)
BODIES = {
    "not JSON": (b"{", 422, "not JSON"),
    "binary": (bytes(range(256)), (400, 422), ""),
    "no object": (b"[1, 2]", 422, "valid dictionary"),
    "empty": (b"", 422, "field required"),
    "unknown field": (b'{"observaton": [1]}', 422, "there is no field 'observaton'"),
    "text for number": (f'{{"observation": ["1"], "goal": {STATE}, "query": "all"}}', 422, "[0]"),
    "true for number": (f'{{"observation": [true], "goal": {STATE}, "query": "all"}}', 422, "[0]"),
    "null for number": (f'{{"observation": [null], "goal": {STATE}, "query": "all"}}', 422, "[0]"),
    "NaN": (
        f'{{"model": "robot", "observation": {STATE[:-4]}NaN], "goal": {STATE}, "query": "all"}}',
        422,
        "observation must be finite in single precision: coordinate 17 (block0_yaw) is NaN",
    ),
    "infinite goal": (
        f'{{"model": "robot", "observation": {STATE}, "goal": [1e999{STATE[4:]}, "query": "all"}}',
        422,
        "goal must be finite in single precision: coordinate 0 (joint_pos) is Infinity",
    ),
    "huge integer": (
        f'{{"observation": [{"9" * 4000}], "goal": {STATE}, "query": "all"}}',
        (400, 422),
        "",
    ),
    "huger integer": (
        f'{{"observation": [{"9" * 9000}], "goal": {STATE}, "query": "all"}}',
        (400, 422),
        "",
    ),
    "deep": ("[" * 100_000, (400, 422), ""),
    "deep closed": ("[" * 100_000 + "]" * 100_000, (400, 422), ""),
    "deep inside": (
        f'{{"observation": {"[" * 500}1{"]" * 500}, "goal": {STATE}, "query": "all"}}',
        422,
        "observation",
    ),
    "lone surrogate": (
        f'{{"observation": {STATE}, "goal": {STATE}, "query": "\\ud800", "model": "robot"}}',
        422,
        "query",
    ),
    "surrogate as a field": ('{"\\ud800": 1}', 422, ""),
    "surrogate as a group": (
        f'{{"model":"robot","observation":{STATE},"goal":{{"\\ud800":1}},"query":"all"}}',
        422,
        "",
    ),
    "long query": (
        f'{{"observation": {STATE}, "goal": {STATE}, "query": "{"a" * 501}"}}',
        422,
        "query: string should have at most 500 characters",
    ),
    "long chain": (
        f'{{"model":"robot","observation":{STATE},"goal":{STATE},"query":"{"[0]&" * 124}[0]"}}',
        200,
        "",
    ),
    "rows": (
        '{"model":"robot","query":"all","goal":'
        f'{STATE},"observation":[{",".join([STATE] * 1025)}]}}',
        422,
        "may have 1,024 rows at most, got 1,025",
    ),
    "ragged": (
        f'{{"model":"robot","observation":[{STATE},[1]],"goal":{STATE},"query":"all"}}',
        422,
        "row 1, needs 18 coordinates",
    ),
    "overflow": (
        f'{{"model":"robot","observation":{json.dumps([3e38] * 18)},"goal":{STATE},"query":"all"}}',
        422,
        "not finite",
    ),
    "no distance": (
        f'{{"model":"full","observation":{STATE},"goal":{STATE},"query":"all","distance":true}}',
        422,
        "gcbc learns no distance",
    ),
    "too long": (b" " * (2**21 + 1), 413, "2,097,152 bytes at most"),
}


@pytest.mark.full
@pytest.mark.xdist_group("serve")
@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str, alive: Server) -> None:
    body, wanted, message = BODIES[name]
    link = http.client.HTTPConnection(*alive.address, timeout=30)
    with contextlib.closing(link):
        link.request("POST", "/v1/act", body, {"Content-Type": "application/json"})
        response = link.getresponse()
        answer = response.read()
    assert response.status in (wanted if isinstance(wanted, tuple) else (wanted,)), answer
    if wanted != 200:
        error = json.loads(answer)["error"]
        assert message in error["message"]
        assert len(answer) < 2_000  # an error is no place to send an input back


JUNK = {
    "nothing": b"",
    "words": b"hello\r\n\r\n",
    "TLS": bytes.fromhex("1603010200010001fc0303") + bytes(200),
    "random": random.Random(0).randbytes(5000),
    "long line": b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000 + b"\r\n",
    "negative length": b"POST /v1/act HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    "two lengths": b"POST /v1/act HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
    b"Content-Length: 6\r\n\r\nhello!",
    "bad chunk": b"POST /v1/act HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "upgrade without key": b"GET /v1/session HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\n\r\n",
    "upgrade elsewhere": b"GET /v1/act HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    b"Sec-WebSocket-Version: 13\r\n\r\n",
    "bytes in a header": b"GET /v1/models HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n",
    "proxy": b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n",
    "half a body": b"POST /v1/act HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{",
}


@pytest.mark.full
@pytest.mark.xdist_group("serve")
@pytest.mark.parametrize("name", JUNK)
def test_junk(name: str, alive: Server) -> None:
    found = status(exchange(alive, JUNK[name], half_close=True))
    assert found is None or 400 <= found < 500


@pytest.mark.full
@pytest.mark.xdist_group("serve")
def test_openapi_description(server: Server) -> None:
    """What the server says of itself, fuzzed: no failure, and no answer that is not declared."""
    if sys.version_info < (3, 11):
        pytest.skip("schemathesis needs Python 3.11")
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        negative_data_rejection,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
        negative_data_rejection,
    ]
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    asked: list[int] = []
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
        @given(
            case=operation.as_strategy()
            | operation.as_strategy(schemathesis.GenerationMode.NEGATIVE)
        )
        def fuzz(case) -> None:
            response = case.call_and_validate(checks=checks, timeout=10)
            asked.append(response.status_code)

        fuzz()
    assert 200 in asked
    assert 422 in asked


# --- WebSocket ---

REFUSED = {
    "unknown type": '{"type": "reset"}',
    "no type": "{}",
    "no object": "[]",
    "a number": "3",
    "unknown field": '{"type": "observe", "observation": [], "x": 1}',
    "too short": json.dumps({"type": "observe", "observation": [0.0] * 17}),
    "too long": json.dumps({"type": "observe", "observation": [0.0] * 5000}),
    "a batch": json.dumps({"type": "observe", "observation": [[0.0] * 18]}),
    "NaN": json.dumps({"type": "observe", "observation": [float("nan")] * 18}),
    "1e999": json.dumps({"type": "observe", "observation": [0.0] * 18}).replace("0.0", "1e999", 1),
    "huge": json.dumps({"type": "observe", "observation": [10**400] * 18}),
    "text": json.dumps({"type": "observe", "observation": "x" * 1000}),
    "strings": json.dumps({"type": "observe", "observation": ["0.0"] * 18}),
    "id": json.dumps({"type": "observe", "observation": [0.0] * 18, "id": "x"}),
    "NaN goal": json.dumps({**ASK, "goal": [float("nan")] * 18}),
    "goals": json.dumps({**ASK, "goal": [[0.0] * 18] * 2}),
    "query": json.dumps({**ASK, "query": "(" * 400}),
    "empty query": json.dumps({**ASK, "query": ""}),
    "tolerance": json.dumps({**ASK, "tolerances": {"eff_pos": "wide"}}),
    "model": json.dumps({**ASK, "model": "no-such-model"}),
}


@pytest.mark.full
@pytest.mark.xdist_group("serve")
def test_messages_that_cannot_be_answered(alive: Server) -> None:
    """Each is told what is wrong, and the session goes on."""
    with connect(alive.ws, proxy=None, max_size=None) as ws:

        def exchange_text(text: str) -> dict:
            ws.send(text)
            return json.loads(ws.recv(10))

        assert exchange_text(json.dumps(ASK))["type"] == "asked"
        observe = json.dumps({"type": "observe", "observation": [0.0] * 18})
        expected = exchange_text(observe)
        assert expected["type"] == "act"
        for name, text in REFUSED.items():
            answer = exchange_text(text)
            assert answer["type"] == "error", name
            assert len(answer["error"]["message"]) < 1000, name
            assert exchange_text(observe) == expected, name


CLOSED = {
    "not JSON": ('{"type": ', 1007, "not JSON"),
    "deep": ("[" * 50_000, 1007, "not JSON"),
    "bytes": (b"\x00\x01", 1003, "JSON text, not bytes"),
    "too large": (json.dumps({"type": "observe", "observation": [0.0] * 20_000}), 1009, ""),
}


@pytest.mark.full
@pytest.mark.xdist_group("serve")
@pytest.mark.parametrize("name", CLOSED)
def test_what_is_no_message_ends_the_session(name: str, alive: Server) -> None:
    message, code, reason = CLOSED[name]
    with connect(alive.ws, proxy=None) as ws:
        ws.send(message)
        with pytest.raises(ConnectionClosed) as end:
            ws.recv(10)
    assert end.value.rcvd is not None
    assert end.value.rcvd.code == code
    assert reason in end.value.rcvd.reason


FRAMES = {
    "reserved opcode": (frame(3, b"x"), 1002),
    "reserved control": (frame(11), 1002),
    "reserved bit": (frame(1, b"{}", rsv=4), 1002),
    "not masked": (b"\x81\x02{}", 1002),
    "long ping": (frame(9, b"x" * 200), 1002),
    "ping in parts": (frame(9, b"x", fin=False), 1002),
    "continues nothing": (frame(0, b"x"), 1002),
    "text within text": (frame(1, b"{", fin=False) + frame(1, b"}"), 1002),
    "invalid UTF-8": (frame(1, b"\xff\xfe"), 1007),
    "length of 2^63": (b"\x81\xff" + b"\xff" * 8, 1009),
    "a terabyte": (b"\x81\xff" + (2**40).to_bytes(8, "big") + b"mask", 1009),
    "close of one byte": (frame(8, b"x"), 1002),
    "close with bad code": (frame(8, (5).to_bytes(2, "big")), 1002),
    "parts too large": (frame(1, b" " * 40_000, fin=False) + frame(0, b" " * 40_000), 1009),
    "random": (random.Random(1).randbytes(3000), None),
}


@pytest.mark.full
@pytest.mark.xdist_group("serve")
@pytest.mark.parametrize("name", FRAMES)
def test_malformed_frames(name: str, alive: Server) -> None:
    sent, code = FRAMES[name]
    with connection(alive) as opened:
        upgrade(opened)
        opened.sendall(sent)
        answer = read_all(opened)  # the server ends the connection, and says why
    if code is not None:
        assert close_code(answer) == code


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=20,
)
messages = st.one_of(
    anything,
    st.fixed_dictionaries(
        {"type": st.sampled_from(["ask", "observe"])},
        optional={
            "observation": anything | st.lists(st.floats(), min_size=18, max_size=18),
            "goal": anything | st.lists(st.floats(-2, 2), min_size=18, max_size=18),
            "query": anything | st.sampled_from(["all", "task", "eff_pos:1cm"]),
            "model": st.sampled_from(["robot", "full"]) | anything,
            "tolerances": anything,
            "id": anything,
        },
    ),
)


@pytest.mark.full
@pytest.mark.xdist_group("serve")
def test_random_messages(alive: Server) -> None:
    kinds = {"asked", "act", "error"}

    @settings(max_examples=25, deadline=None)
    @given(st.lists(messages, max_size=8))
    def fuzz(told: list[object]) -> None:
        with connect(alive.ws, proxy=None) as ws:
            for message in told:
                ws.send(json.dumps(message))
                assert json.loads(ws.recv(10))["type"] in kinds

    fuzz()


# --- Run directories ---


class Trap:
    """A pickle that leaves a trace when somebody loads it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "frame.safetensors", "config.json"])
def test_a_run_directory_cannot_execute_code(name: str, robot: Run, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for file in robot.path.iterdir():
        if file.is_file():
            (run / file.name).write_bytes(file.read_bytes())
    open_models([f"x={run}"])
    trace = tmp_path / "trace"
    (run / name).write_bytes(pickle.dumps(Trap(trace)))
    with pytest.raises(GoalsetsError):
        open_models([f"x={run}"])
    assert not trace.exists()
    pickle.loads(pickle.dumps(Trap(trace)))
    assert trace.exists()  # the trap works, for those who load pickles
