"""Who may speak to the server, and what Prometheus reads."""

from __future__ import annotations

import re

import pytest

from goalsets import GoalsetsError
from goalsets.serve.errors import ServeError
from goalsets.serve.guard import Guard
from goalsets.serve.limits import Limits
from goalsets.serve.metrics import Metrics

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_this_machine_needs_no_token(host: str) -> None:
    guard = Guard(host, None)
    guard.check("/v1/act", [(b"host", b"localhost:8000")])
    with pytest.raises(ServeError, match="called localhost"):
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
    metrics.gauges["goalsets_sessions"] = ("Sessions open.", lambda: 3)
    for seconds in (0.0001, 0.0002, 0.0003, 9.0):
        metrics.count_actions("robot", "session", 2, seconds)
    metrics.count_request("/v1/act", 200)
    text = metrics.text()
    sample = re.compile(r'^[a-z_]+(\{[a-z_]+="[^"\\]*"(,[a-z_]+="[^"\\]*")*\})? -?[0-9.e+-]+$')
    for line in text.splitlines():
        assert line.startswith("# ") or sample.match(line), line
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    of = 'model="robot",via="session"'
    assert found[f"goalsets_actions_total{{{of}}}"] == "8"
    buckets = [float(v) for k, v in found.items() if k.startswith("goalsets_act_seconds_bucket")]
    assert buckets[:3] == [1, 2, 3]
    assert buckets == sorted(buckets)
    assert buckets[-2:] == [3, 4]
    assert found[f"goalsets_act_seconds_count{{{of}}}"] == "4"
    assert float(found[f"goalsets_act_seconds_sum{{{of}}}"]) == pytest.approx(9.0006)
    assert found["goalsets_sessions"] == "3"


def test_limits_must_let_something_through() -> None:
    with pytest.raises(GoalsetsError, match="sessions must be above 0, got 0"):
        Limits(sessions=0)
