"""Who may speak to the server, what Prometheus reads, and what is assumed of uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
import inspect

import h11
import pytest
from prometheus_client.parser import text_string_to_metric_families
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from goalsets import GoalsetsError
from goalsets.serve.connections import BoundedConfig, HttpConnection, SocketConnection
from goalsets.serve.errors import ServeError
from goalsets.serve.guard import Guard
from goalsets.serve.limits import Limits
from goalsets.serve.metrics import Metrics

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_this_machine_needs_no_token(host: str) -> None:
    guard = Guard(host, None)
    guard.check("/v1/act", [(b"host", b"localhost:8000")])
    with pytest.raises(ServeError, match="address this server as localhost"):
        guard.check("/v1/act", [(b"host", b"robot.local:8000")])


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "robot.local", ""])
def test_any_other_address_needs_a_token(host: str) -> None:
    with pytest.raises(GoalsetsError, match="needs a token"):
        Guard(host, None)
    Guard(host, TOKEN)


@pytest.mark.parametrize("token", ["", "short", "with a space in it", "ümlaute-sind-kein-ascii"])
def test_a_token_that_is_none(token: str) -> None:
    with pytest.raises(GoalsetsError, match="a token needs 16 or more characters"):
        Guard("0.0.0.0", token)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {TOKEN}", None),
        (f"bearer  {TOKEN} ", None),
        ("Bearer 0123456789abcdeg", 401),
        ("Bearer 0123456789abcde", 401),
        ("Bearer ", 401),
        (TOKEN, 401),
        (f"Basic {TOKEN}", 401),
        ("", 401),
        ("Bearer \xff\xfe", 401),
    ],
)
def test_tokens(header: str, status: int | None) -> None:
    guard = Guard("0.0.0.0", TOKEN)
    headers = [(b"authorization", header.encode("latin-1"))]
    guard.check("/healthz", [])
    if status is None:
        guard.check("/v1/act", headers)
        return
    with pytest.raises(ServeError) as caught:
        guard.check("/v1/act", headers)
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("host", "origin", "allowed"),
    [
        ("127.0.0.1:8000", None, True),
        ("localhost", None, True),
        ("[::1]:8000", None, True),
        ("127.0.0.1:8000", "http://127.0.0.1:8000", True),
        ("127.0.0.1:8000", "http://127.0.0.1:9999", False),
        ("127.0.0.1:8000", "https://page.example", False),
        ("127.0.0.1:8000", "null", False),
        ("127.0.0.1:8000", "http://[", False),
        # A page's own name that points to this machine: the browser takes it for one origin.
        ("page.example:8000", "http://page.example:8000", False),
        ("", None, False),
    ],
)
def test_a_web_page_cannot_reach_a_server_without_token(host, origin, allowed) -> None:
    guard = Guard("127.0.0.1", None)
    headers = [(b"host", host.encode())]
    if origin is not None:
        headers.append((b"origin", origin.encode()))
    if allowed:
        guard.check("/v1/act", headers)
        return
    with pytest.raises(ServeError) as caught:
        guard.check("/v1/act", headers)
    assert caught.value.status == 403


def test_metrics_are_prometheus_text() -> None:
    metrics = Metrics()
    metrics.add_gauge("goalsets_sessions", "Sessions open.", lambda: 3)
    for seconds in (0.0001, 0.0002, 0.0003, 9.0):
        metrics.count_actions("robot", "session", 2, seconds)
    metrics.count_request("/v1/act", 200)
    families = {family.name: family for family in text_string_to_metric_families(metrics.text())}
    assert [sample.value for sample in families["goalsets_actions"].samples] == [8]
    assert families["goalsets_requests"].samples[0].labels == {
        "endpoint": "/v1/act",
        "status": "200",
    }
    times = families["goalsets_act_seconds"].samples
    buckets = [sample.value for sample in times if sample.name.endswith("_bucket")]
    assert buckets == [1, 2, 3, *[3] * 7, 4]
    assert [s.value for s in times if s.name.endswith("_sum")] == [pytest.approx(9.0006)]
    assert families["goalsets_sessions"].samples[0].value == 3
    assert families["process_resident_memory_bytes"].samples[0].value > 1e6


def test_servers_in_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.count_message("answered")
    assert 'outcome="answered"' in one.text()
    assert 'outcome="answered"' not in other.text()


@pytest.mark.parametrize(
    ("ours", "theirs", "attributes"),
    [
        (HttpConnection, H11Protocol, ["config", "conn", "connections", "loop", "transport"]),
        (SocketConnection, WebSocketsSansIOProtocol, ["config", "loop", "read_paused"]),
    ],
)
def test_what_is_assumed_of_uvicorn(ours, theirs, attributes: list[str]) -> None:
    """Its connections are not documented: a release that changes them should fail here, by name."""
    for name, method in inspect.getmembers(ours, inspect.isfunction):
        if name in vars(ours) and not name.startswith("_"):
            assert hasattr(theirs, name), name
            expected = list(inspect.signature(getattr(theirs, name)).parameters)
            assert list(inspect.signature(method).parameters) == expected, name
    loop = asyncio.new_event_loop()
    with contextlib.closing(loop):
        made = theirs(BoundedConfig(lambda: None, Limits()), ServerState(), {}, loop)
    assert not [name for name in attributes if not hasattr(made, name)]
    if theirs is H11Protocol:
        assert made.conn.their_state is h11.IDLE
        assert made.timeout_keep_alive_task is None


def test_limits_must_let_something_through() -> None:
    with pytest.raises(GoalsetsError, match="sessions must be above 0, got 0"):
        Limits(sessions=0)
