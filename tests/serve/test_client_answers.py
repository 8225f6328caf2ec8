"""What a client reads of servers that are none of ours: errors of goalsets, never a traceback."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from goalsets.serve import client
from goalsets.serve.client import Client, ClientError
from goalsets.serve.client_words import read_message

STATE = np.zeros(18)
ASKS = {
    "models": lambda c: c.models(),
    "layout": lambda c: c.layout(),
    "act": lambda c: c.act(STATE, STATE, "all"),
    "distance": lambda c: c.distance(STATE, STATE, "all"),
    "check": lambda c: c.check(STATE, STATE, "all"),
    "plan": lambda c: c.plan(STATE, STATE, "all"),
}
ODD = [
    b"",
    b"hello",
    b"null",
    b"[1]",
    b"{}",
    b'"text"',
    b"[" * 100_000,
    b"\xff\xfe",
    b'{"action": "far", "distance": [[1], 2], "layout": 3, "plan": {"steps": [1], "due": 0}}',
    b'{"action": [1' + b"0" * 400 + b'], "distance": {}, "layout": {"dim": 1}, "plan": null}',
    b'{"error": "no"}',
    b'{"error": {"code": 1, "message": []}}',
]


@contextlib.contextmanager
def server(status: int, body: bytes) -> Iterator[Client]:
    """A server that gives one answer to everything."""

    class Odd(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the name that the library calls

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Odd) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            with Client(f"http://127.0.0.1:{http.server_port}", timeout=5) as asking:
                yield asking
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_answers_of_other_programs(body: bytes, status: int) -> None:
    with server(status, body) as asking:
        for ask in ASKS.values():
            with pytest.raises(ClientError, match="the server") as no:
                ask(asking)
            assert no.value.code in ("refused", "unexpected")


def test_an_answer_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST", 1000)
    with server(200, b"[" + b"1," * 1000 + b"1]") as asking:
        with pytest.raises(ClientError, match="the server's answer has more than 1,000 bytes"):
            asking.models()


@pytest.mark.parametrize("message", [*ODD, b'{"type": {}', b'{"type": "error", "error": [1]}'])
def test_messages_of_other_programs(message: bytes) -> None:
    with pytest.raises(ClientError, match="the server's answer is not the message"):
        read_message(message)


def test_messages_of_a_session() -> None:
    assert read_message('{"type": "action", "action": [1]}') == {"type": "action", "action": [1]}
    with pytest.raises(ClientError, match="too late") as no:
        read_message('{"type": "error", "error": {"code": "late", "message": "too late"}}')
    assert no.value.code == "late"
