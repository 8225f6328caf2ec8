"""Who may come into the playground, and what a tab that sends nonsense does to the others."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import inspect
import logging
from collections.abc import Iterator

import msgspec
import pytest
import viser
import websockets.asyncio.server
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.http11 import Request, Response
from websockets.sync.client import connect

from goalsets.core import GoalsetsError
from goalsets.play.app import Playground, Simulators
from goalsets.play.door import MOST_BYTES, Door
from goalsets.play.setup import Setup

TOKEN = "a-token-that-is-long-enough"
VERSION = f"viser-v{viser.__version__}"


def asks(path: str = "/", **headers: str) -> Request:
    return Request(path, Headers({"Host": "localhost:8080", **headers}))


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({}, True),
        ({"Origin": "http://localhost:8080"}, True),
        ({"Origin": "http://localhost:9090"}, False),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://["}, False),
        ({"Host": "evil.example:8080"}, False),  # a name that was made to point here
        ({"Host": "127.0.0.1:8080"}, True),
        ({"Host": ""}, False),
    ],
)
def test_on_this_machine_only_its_own_pages_come_in(headers: dict[str, str], passes: bool) -> None:
    answer = Door("127.0.0.1", 8080).judge(asks(**headers))
    assert (answer is None) == passes
    assert passes or answer.status_code == 403


def test_two_origins_are_none() -> None:
    request = asks(Origin="http://localhost:8080")
    request.headers["Origin"] = "http://localhost:8080"
    assert Door("127.0.0.1", 8080).judge(request).status_code == 403


def test_elsewhere_a_token_is_needed() -> None:
    door = Door("0.0.0.0", 8080)
    assert len(door.token) > 30
    assert door.url == f"http://127.0.0.1:8080/?token={door.token}"
    assert Door("0.0.0.0", 8080).token != door.token
    assert Door("127.0.0.1", 8080).token is None
    assert door.judge(asks()).status_code == 401
    assert door.judge(asks("/?token=wrong")).status_code == 401
    assert door.judge(asks(Cookie="goalsets-8080=wrong")).status_code == 401
    assert door.judge(asks(Cookie='goalsets-8080="' + "x" * 9000)).status_code == 401
    welcome = door.judge(asks(f"/?token={door.token}"))
    assert (welcome.status_code, welcome.headers["Location"]) == (303, "/")
    cookie = welcome.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    kept = cookie.partition(";")[0]
    assert door.judge(asks(Cookie=f"other=1; {kept}", Host="robot.local:8080")) is None
    other = {"Cookie": kept, "Origin": "http://evil.example"}
    assert door.judge(asks(**other)).status_code == 403
    with pytest.raises(GoalsetsError, match="a token needs 16 or more"):
        Door("127.0.0.1", 8080, "short")


@pytest.fixture(scope="module")
def served(setup: Setup) -> Iterator[Playground]:
    playground = Playground(Simulators(setup), port=0, token=TOKEN)
    yield playground
    playground.close()


def address(playground: Playground) -> tuple[str, int]:
    host, _, port = playground.url.partition("/?")[0].removeprefix("http://").partition(":")
    return host, int(port)


def tab(playground: Playground, **headers: str):
    host, port = address(playground)
    cookie = {"Cookie": f"goalsets-{port}={TOKEN}"}
    return connect(
        f"ws://{host}:{port}",
        subprotocols=[VERSION],
        additional_headers={**cookie, **headers},
        max_size=None,
        proxy=None,
    )


@pytest.mark.full
def test_the_page_and_its_socket(served: Playground) -> None:
    host, port = address(served)
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=30)) as plain:
        for path, status in (("/", 401), (f"/?token={TOKEN}", 303)):
            plain.request("GET", path)
            answer = plain.getresponse()
            answer.read()
            assert answer.status == status
        plain.request("GET", "/", headers={"Cookie": f"goalsets-{port}={TOKEN}"})
        answer = plain.getresponse()
        assert answer.status == 200
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
        assert b"</head>" in answer.read()
    for refused in ({"Origin": "http://evil.example"}, {"Cookie": "x=y"}):
        with pytest.raises(InvalidStatus):
            tab(served, **refused)
    with tab(served, Origin=f"http://{host}:{port}") as own:
        assert own.recv(timeout=30)


NONSENSE = {
    "text": "hello",
    "no msgpack": b"\xc1",
    "truncated": msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": "x" * 50})[:-20],
    "no type": msgspec.msgpack.encode({"a": 1}),
    "unknown type": msgspec.msgpack.encode({"type": "Nobody"}),
    "a list": msgspec.msgpack.encode([1, 2, 3]),
    "missing fields": msgspec.msgpack.encode({"type": "GuiUpdateMessage"}),
    "too long": b"\0" * (MOST_BYTES + 1),
}


@pytest.mark.full
@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_closes_one_tab_and_leaves_no_traceback(
    served: Playground, name: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), tab(served) as other, tab(served) as bad:
        other.recv(timeout=30)
        bad.send(NONSENSE[name])
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                bad.recv(timeout=30)
        assert closed.value.rcvd.code in (1007, 1009)
        other.ping().wait(30)
    assert "Traceback" not in caplog.text
    assert "Traceback" not in capfd.readouterr().err


def test_text_for_the_head() -> None:
    door = Door("127.0.0.1", 8080, head="<style>x</style>")

    def viser_page(*_: object):
        headers = Headers({"Content-Type": "text/html", "Content-Length": "14"})
        return Response(200, "OK", headers, b"<head></head>x")

    answer = door.checked(viser_page)(None, asks())
    assert answer.body == b"<head><style>x</style></head>x"
    assert answer.headers["Content-Length"] == str(len(answer.body))


def test_what_goes_wrong_in_a_callback_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(_: object) -> None:
        asyncio.get_running_loop().call_exception_handler({"exception": KeyError("uuid")})

    asyncio.run(Door("127.0.0.1", 8080).forgiving(handler)(None))
    assert [r.getMessage() for r in caplog.records] == [
        "a message of a tab had no effect (KeyError: 'uuid')"
    ]


def test_what_is_assumed_of_viser() -> None:
    source = inspect.getsource(viser.infra.WebsockServer._background_worker)
    assert "websockets.asyncio.server.serve(" in source
    assert {"process_request", "max_size", "logger"} <= set(
        inspect.signature(websockets.asyncio.server.serve).parameters
    )
