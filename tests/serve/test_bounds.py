"""Everything is bounded: sizes, numbers, and the patience with clients that do not keep pace."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import re
import signal
import socket
import threading
import time

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from goalsets.runs.run import Run
from goalsets.serve.client import Client, ClientError
from goalsets.serve.errors import ServeError
from goalsets.serve.state import Batches
from tests.serve.conftest import LIMITS, TIGHT, TOKEN, Server, start
from tests.serve.raw import (
    KEY,
    close_code,
    connection,
    exchange,
    frame,
    get,
    read_all,
    status,
    until,
    upgrade,
)

pytestmark = pytest.mark.full

STATE = np.zeros(18)
HEADERS = {"Authorization": f"Bearer {TOKEN}"}


def post(head: str) -> bytes:
    lines = ["POST /v1/act HTTP/1.1", "Host: 127.0.0.1", KEY, "Content-Type: application/json"]
    return "\r\n".join([*lines, head, "", ""]).encode()


def test_batches_are_refused_at_once_where_too_many_wait() -> None:
    async def scenario() -> tuple[list[int], float]:
        batches, go = Batches(3, "batches"), threading.Event()
        waiting = [
            asyncio.ensure_future(batches.run(lambda i=i: (go.wait(20), i)[1])) for i in range(3)
        ]
        await asyncio.sleep(0)
        start = time.perf_counter()
        with pytest.raises(ServeError, match="3 batches are waiting") as no:
            await batches.run(lambda: 0)
        seconds = time.perf_counter() - start
        assert no.value.status == 503
        go.set()
        done = await asyncio.gather(*waiting)
        assert await batches.run(lambda: 9) == 9  # there is room again
        batches.close()
        return done, seconds

    done, seconds = asyncio.run(scenario())
    assert done == [0, 1, 2]
    assert seconds < 1


def test_tokens(tight: Server) -> None:
    for token in (None, "0123456789abcdef"):
        with Client(tight.url, token=token) as client:
            for ask in (client.models, lambda c=client: c.session(STATE, "all")):
                with pytest.raises(ClientError, match="needs a token") as no:
                    ask()
                assert no.value.status == 401
    for path in ("/metrics", "/openapi.json", "/docs", "/nowhere"):
        answer = exchange(tight, get(path))
        assert status(answer) == 401, path
    assert status(exchange(tight, get("/healthz"))) == 200


def test_bodies_are_bounded(tight: Server) -> None:
    most = LIMITS["body-bytes"]
    declared = exchange(tight, post(f"Content-Length: {most + 1}") + b" " * (most + 1))
    assert status(declared) == 413
    assert b"may have 20,000 bytes at most" in declared
    # The answer does not wait for a body that is far too long.
    assert status(exchange(tight, post(f"Content-Length: {10**12}"))) == 413
    chunk = b"3e8\r\n" + b" " * 1000 + b"\r\n"
    chunked = post("Transfer-Encoding: chunked")
    assert status(exchange(tight, chunked + chunk * 21 + b"0\r\n\r\n")) == 413
    with connection(tight) as opened:  # and one that never ends is cut off
        opened.sendall(chunked)
        with contextlib.suppress(OSError):
            for _ in range(100_000):
                opened.sendall(chunk)
        assert status(read_all(opened)) in (413, None)
    fits = json.dumps({"observation": [0.0] * 18, "goal": [0.0] * 18, "query": "all"})
    whole = f"{len(fits):x}\r\n{fits}\r\n0\r\n\r\n".encode()
    assert (
        status(exchange(tight, post("Transfer-Encoding: chunked\r\nConnection: close") + whole))
        == 200
    )


def test_slow_requests_are_given_up(tight: Server) -> None:
    with connection(tight) as silent, connection(tight) as trickling, connection(tight) as stuck:
        stuck.sendall(post("Content-Length: 100") + b"{")
        trickling.sendall(b"GET /healthz HTTP/1.1\r\nX: ")
        start = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - start < 3:  # a byte now and then buys no time
                trickling.sendall(b"x")
                time.sleep(0.1)
        assert status(read_all(stuck)) == 408
        assert status(read_all(silent)) == 408
        assert status(read_all(trickling)) in (408, None)


def test_too_many_requests_are_refused_at_once(tight: Server) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(LIMITS["requests"]):
            stack.enter_context(connection(tight)).sendall(post("Content-Length: 100") + b"{")
        answers: list[bytes] = []

        def refused() -> bool:
            answers.append(exchange(tight, post("Content-Length: 0\r\nConnection: close")))
            return status(answers[-1]) == 503

        until(refused, 5.0)
        assert b"requests are in progress" in answers[-1]
        assert b"retry-after: 1" in answers[-1].lower()
        # Those who watch the server still can.
        assert status(exchange(tight, get("/healthz"))) == 200
    # The three have gone, and there is room again.
    until(
        lambda: (
            status(exchange(tight, post("Content-Length: 2\r\nConnection: close") + b"{}")) == 422
        )
    )


def test_large_bodies_are_refused_before_they_are_read(tight: Server) -> None:
    """A batch too many is refused by its length: reading it would take memory and time."""
    large = post(f"Content-Length: {LIMITS['message-bytes'] + 1}")
    with contextlib.ExitStack() as stack:
        for _ in range(LIMITS["waiting-batches"]):
            stack.enter_context(connection(tight)).sendall(large + b"{")
        answers: list[bytes] = []

        def refused() -> bool:
            answers.append(exchange(tight, large))  # its body never comes, and is not waited for
            return status(answers[-1]) == 503

        until(refused, 5.0)
        assert b"2 batches are in progress" in answers[-1]
        # One state is still answered.
        small = post("Content-Length: 2\r\nConnection: close") + b"{}"
        assert status(exchange(tight, small)) == 422


def test_rows_are_bounded(tight: Server) -> None:
    with Client(tight.url, token=TOKEN) as client:
        assert client.act(np.zeros((40, 18)), STATE, "all").shape == (40, 5)
        with pytest.raises(ClientError, match="observation may have 40 rows at most, got 41"):
            client.act(np.zeros((41, 18)), STATE, "all")


def test_sessions_are_bounded_and_silence_ends_them(tight: Server) -> None:
    with Client(tight.url, token=TOKEN) as client:
        with client.session(STATE, "all") as first, client.session(STATE, "all"):
            with pytest.raises(ClientError, match="2 sessions are open, which is the limit") as no:
                client.session(STATE, "all")
            assert no.value.status == 503
            first.act(STATE)
            # It answers pings all the while; what ends it is that it asks nothing.
            time.sleep(LIMITS["idle-seconds"] + 2.5)
            with pytest.raises(ClientError, match="no message for 3 seconds"):
                first.act(STATE)
        with client.session(STATE, "all") as again:
            again.act(STATE)


def test_a_session_that_only_errs_is_closed(tight: Server) -> None:
    with connect(tight.ws, additional_headers=HEADERS, proxy=None) as ws:
        for _ in range(LIMITS["errors-in-a-row"]):
            ws.send('{"type": "observe", "observation": [1]}')
            assert json.loads(ws.recv(10))["type"] == "error"
        with pytest.raises(ConnectionClosed) as end:
            ws.recv(10)
        assert end.value.rcvd.code == 1008
        assert end.value.rcvd.reason == "3 messages in a row had no answer"


def test_a_dead_client_is_dropped(tight: Server) -> None:
    """It went through the handshake, and then neither speaks nor answers pings."""
    with connection(tight) as dead:
        upgrade(dead, KEY + "\r\n")
        answer = read_all(dead)
        assert answer[0] == 0x89  # a ping
        assert close_code(answer) == 1011


def test_a_client_that_does_not_read_is_dropped(tight: Server) -> None:
    before = tight.resident()
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.settimeout(20)
        deaf.connect(tight.address)
        upgrade(deaf, KEY + "\r\n")
        pings = frame(9, b"x" * 125) * 500
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            for _ in range(4000):  # a quarter of a gigabyte, were it all read
                deaf.sendall(pings)
    assert tight.resident() - before < 30 * 2**20
    until(lambda: _open_sessions(tight) == 0)


def _open_sessions(server: Server) -> int:
    link = http.client.HTTPConnection(*server.address, timeout=10)
    with contextlib.closing(link):
        link.request("GET", "/metrics", headers=HEADERS)
        text = link.getresponse().read().decode()
    found = re.search(r"^goalsets_sessions (\d+)(\.0)?$", text, re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_sigterm_lets_sessions_end(robot: Run) -> None:
    with start(f"robot={robot.path}", *TIGHT) as server, Client(server.url) as client:
        with client.session(STATE, "all") as first, client.session(STATE, "all") as last:
            first.act(STATE)
            server.process.send_signal(signal.SIGTERM)
            signalled = time.monotonic()
            until(lambda: status(exchange(server, get("/healthz"))) == 503)
            for ask in (client.models, lambda: client.session(STATE, "all")):
                with pytest.raises(ClientError, match="the server is shutting down") as no:
                    ask()
                assert no.value.status == 503
            first.act(STATE)  # what is under way goes on
            assert first.draining
            first.close()
            with pytest.raises(ClientError, match="ended the session: the server is shutting down"):
                while True:
                    last.act(STATE)
                    time.sleep(0.05)
            assert time.monotonic() - signalled > LIMITS["drain-seconds"] / 2
        assert server.process.wait(10) == 0
