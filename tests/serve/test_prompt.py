"""Every request is answered or closed in time, and reading one does not keep the others waiting."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest

from goalsets.core import GoalsetsError
from goalsets.runs.run import Run
from goalsets.serve.door import _deadline
from goalsets.serve.errors import ServeError
from goalsets.serve.models import Model
from goalsets.serve.reading import Bounds
from goalsets.serve.schema import SESSION_MESSAGE, ActRequest, CheckRequest
from goalsets.serve.session import ProtocolError, _read
from tests.serve.conftest import Server, start
from tests.serve.raw import close_code, connection, frame, read_all, upgrade

pytestmark = pytest.mark.full

ASKS = "Host: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
KEYS = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
MANY = "".join(f"x{i}: y\r\n" for i in range(200))


@pytest.mark.parametrize(
    ("line", "headers", "body", "status"),
    [
        ("GET /v1/models", KEYS, "", 404),
        ("GET /healthz", "", "", 400),
        ("POST /v1/session", KEYS, "", 404),
        ("POST /v1/act", KEYS + "Content-Length: 2\r\n", "{}", 422),
        ("PUT /nowhere", KEYS, "", 404),
        ("OPTIONS /v1/session", KEYS, "", 404),
        ("GET /v1/session", KEYS + "Content-Length: 2\r\n", "{}", 404),
        ("GET /v1/session", KEYS + "Transfer-Encoding: chunked\r\n", "0\r\n\r\n", 404),
        ("GET /v1/session", KEYS + MANY, "", 400),
        ("GET /v1/session", KEYS + "x: " + "y" * 9000 + "\r\n", "", 400),
    ],
)
def test_an_upgrade_that_cannot_be_is_answered_at_once(
    alive: Server, line: str, headers: str, body: str, status: int
) -> None:
    with connection(alive) as opened:
        opened.settimeout(4)  # less than any limit of the server: it must not run into one
        opened.sendall(f"{line} HTTP/1.1\r\n{ASKS}{headers}\r\n{body}".encode())
        assert opened.recv(2**16).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(
    "filler",
    [frame(0, fin=False), frame(9), frame(10, b"1234")],
    ids=["fragments", "pings", "pongs"],  # a frame is masked at random, and no name
)
def test_frames_without_a_message_end_a_session(alive: Server, filler: bytes) -> None:
    """A hundred thousand empty fragments, pings or pongs."""
    with connection(alive) as opened:
        upgrade(opened)
        with contextlib.suppress(ConnectionError):
            opened.sendall(frame(1, fin=False) + filler * 100_000)
        assert close_code(_without_pongs(read_all(opened))) == 1008


def _without_pongs(answer: bytes) -> bytes:
    return answer.replace(b"\x8a\x00", b"")


def test_fragments_of_a_message_are_joined(alive: Server) -> None:
    with connection(alive) as opened:
        upgrade(opened)
        ask = {"type": "ask", "model": "robot", "goal": [0.0] * 18, "query": "all"}
        text = json.dumps(ask).encode()
        parts = [text[i : i + 1] for i in range(len(text))]
        opened.sendall(frame(1, parts[0], fin=False))
        opened.sendall(b"".join(frame(0, part, fin=False) for part in parts[1:]))
        opened.sendall(frame(0))
        assert b'"type":"asked"' in opened.recv(2**16)


def hostile(bounds: Bounds) -> dict[str, str]:
    """The costliest texts that are still counted as short enough, and some that are not."""
    commas, colons = bounds.commas, bounds.colons

    def observe(values: str) -> str:
        return f'{{"type":"observe","observation":{values}}}'

    entries = ",".join(f'"g{i}":null' for i in range(colons - 5))
    return {
        "texts": observe("[" + ",".join(['"a"'] * (commas - 1)) + "]"),
        "lists": observe("[" + ",".join(["[]"] * (commas - 1)) + "]"),
        "last wrong": observe("[" + "0.123456789012345," * (commas - 2) + "null]"),
        "fields": '{"type":"observe",' + entries + "}",
        "named": '{"type":"ask","query":"all","goal":{' + entries + "}}",
        "tolerances": '{"type":"ask","query":"all","tolerances":{' + entries + "}}",
        "deep": observe("[" * 30_000),
        "digits": observe("[" + "1" * 60_000 + "]"),
        "too many numbers": observe("[" + "0," * 32_000 + "0]"),
        "too many fields": '{"type":"ask","goal":{' + '"a":0,' * 9_000 + '"b":0}}',
    }


@pytest.mark.parametrize("name", hostile(Bounds(9, 9)))
def test_reading_a_message_costs_five_milliseconds_at_most(name: str, model: Model) -> None:
    bounds = Bounds.of([model.layout], 1)
    text = hostile(bounds)[name]
    assert min(_seconds(lambda: _judge(bounds, text)) for _ in range(5)) < 0.005


def _judge(bounds: Bounds, text: str) -> None:
    with pytest.raises((GoalsetsError, ProtocolError)):
        bounds.check(text.encode())
        _read(text)


def _seconds(do) -> float:
    start = time.thread_time()
    do()
    return time.thread_time() - start


def test_what_can_be_answered_is_never_counted_as_too_much(model: Model) -> None:
    """The largest batch, and a goal and tolerances that name every group with everything said."""
    layout = model.layout
    states = np.random.default_rng(0).standard_normal((1024, layout.dim)).tolist()
    named = {name: [0.0] * len(group.indices) for name, group in layout.by_name.items()}
    query = " & ".join(f"{name}:1" for name in layout.by_name)
    whole = {"model": "robot", "observation": states, "goal": states, "query": "all"}
    Bounds.of([layout], 1024).check(json.dumps(whole).encode())
    ActRequest.model_validate(whole)
    tolerances = dict.fromkeys(named, "1")
    asked = {"model": "robot", "goal": named, "query": query, "tolerances": tolerances}
    Bounds.of([layout], 1).check(json.dumps({"type": "ask", **asked, "plan": False}).encode())
    CheckRequest.model_validate({**asked, "state": states})
    SESSION_MESSAGE.validate_python({"type": "ask", **asked})


def test_a_large_body_of_nonsense_is_refused_unread(alive: Server) -> None:
    body = json.dumps({"observation": ["a"] * 400_000, "goal": [0], "query": "all"})
    plain = http.client.HTTPConnection(*alive.address, timeout=20)
    with contextlib.closing(plain):
        plain.request("POST", "/v1/act", body, {"content-type": "application/json"})
        answer = plain.getresponse()
        assert answer.status == 413
        assert "39,113 values and 66 fields at most" in answer.read().decode()


def test_a_request_that_takes_too_long_is_given_up() -> None:
    async def late() -> None:
        async with _deadline(0.05):
            await asyncio.sleep(20)

    async def in_time() -> str:
        async with _deadline(5):
            await asyncio.sleep(0)
        return "done"

    with pytest.raises(ServeError, match=r"no answer within 0\.05 seconds") as no:
        asyncio.run(late())
    assert no.value.status == 503
    assert asyncio.run(in_time()) == "done"


def test_sigterm_under_load_answers_what_was_accepted(robot: Run) -> None:
    """Callers that keep their connections, and large batches, up to the signal and beyond it."""
    told: Counter[object] = Counter()
    over = threading.Event()
    states = np.zeros((1024, 18)).tolist()
    large = json.dumps({"observation": states, "goal": states, "query": "all"})
    small = json.dumps({"observation": [0] * 18, "goal": [0] * 18, "query": "all"})

    def call(server: Server, body: str) -> None:
        plain = http.client.HTTPConnection(*server.address, timeout=30)
        with contextlib.closing(plain):
            while True:
                late = over.is_set()  # then it may find nobody who listens
                try:
                    plain.request("POST", "/v1/act", body, {"content-type": "application/json"})
                    answer = plain.getresponse()
                    answer.read()
                except OSError as error:
                    told["late" if late else repr(error)] += 1
                    return
                told[answer.status] += 1

    with start(f"robot={robot.path}") as server:
        callers = [
            threading.Thread(target=call, args=(server, body)) for body in [small] * 6 + [large] * 4
        ]
        for caller in callers:
            caller.start()
        while told[200] < 40:
            time.sleep(0.01)
        over.set()
        server.process.send_signal(signal.SIGTERM)
        for caller in callers:
            caller.join()
        assert server.process.wait(30) == 0
    assert told[200] >= 40
    assert set(told) <= {200, 503, "late"}, told
