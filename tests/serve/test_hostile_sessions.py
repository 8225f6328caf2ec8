"""Hostile sessions: each message gets an answer or a close with a reason; the server stays up."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.serve.conftest import Server
from tests.serve.raw import close_code, connection, frame, read_all, upgrade

pytestmark = pytest.mark.full

ASK = {"type": "ask", "model": "robot", "goal": [0.0] * 18, "query": "all"}

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
    "no planner": json.dumps({**ASK, "plan": True}),
    "plan": json.dumps({**ASK, "plan": 1}),
}


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
            "plan": st.booleans() | anything,
            "id": anything,
        },
    ),
)


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
