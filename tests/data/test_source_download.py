"""Downloads against a server on this machine that can cut, refuse, and ignore ranges."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from goalsets.core import GoalsetsError
from goalsets.data.sources import OGBench, SourceError
from goalsets.data.sources.download import Downloader, DownloadError
from goalsets.data.sources.ogbench import check_file, mirror_url

FAST = Downloader(attempts=3, timeout=5, backoff=0.01, progress=False)
BODY = bytes(np.random.default_rng(0).integers(0, 256, 300_000, dtype=np.uint8))


@dataclass
class Behaviour:
    """What the server has and how it misbehaves; changed by the tests while it runs."""

    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: list[int] = field(default_factory=list)
    """For each of the next answers, after how many bytes the connection breaks."""
    refuse: int = 0
    """How many of the next requests get status 503."""
    ignore_range: bool = False
    shift: int = 0
    """By how much the answered range is off."""
    requests: list[tuple[str, str | None]] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        behaviour: Behaviour = self.server.behaviour
        wanted = self.headers.get("Range")
        behaviour.requests.append((self.path, wanted))
        body = behaviour.files.get(self.path)
        if behaviour.refuse:
            behaviour.refuse -= 1
            self.send_error(503)
        elif body is None:
            self.send_error(404)
        else:
            self.answer(behaviour, body, wanted)

    def answer(self, behaviour, body, wanted):
        start = 0
        if wanted and not behaviour.ignore_range:
            start = int(wanted.removeprefix("bytes=").rstrip("-")) + behaviour.shift
            if start >= len(body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(body)}")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        end = start + behaviour.cut_after.pop(0) if behaviour.cut_after else len(body)
        self.wfile.write(body[start:end])
        self.close_connection = True

    def log_message(self, *args):
        pass


class Server:
    """A running server, what it does, and its address."""

    def __init__(self):
        self.behaviour = Behaviour()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.behaviour = self.behaviour
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def stop(self):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def mirror() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Neither data of this machine's user nor a proxy may take part."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def accept(path):
    pass


def whole(path):
    if path.read_bytes() != BODY:
        raise GoalsetsError("these are other bytes")


def test_a_file_arrives(server, tmp_path):
    server.behaviour.files["/a"] = BODY
    target = tmp_path / "new" / "a"
    assert FAST.fetch(f"{server.url}/a", target, whole) == target
    assert target.read_bytes() == BODY
    assert [p.name for p in target.parent.iterdir()] == ["a"]


def test_a_cut_download_continues_where_it_stopped(server, tmp_path):
    server.behaviour.files["/a"] = BODY
    server.behaviour.cut_after = [100_000, 50_000]
    FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    assert [r for _, r in server.behaviour.requests] == [None, "bytes=100000-", "bytes=150000-"]


def test_a_download_given_up_continues_in_the_next_run(server, tmp_path):
    server.behaviour.files["/a"] = BODY
    server.behaviour.cut_after = [10, 10, 10]
    with pytest.raises(DownloadError, match=r"ended after 30 of 300000 bytes \(3 attempts\)"):
        FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    assert not (tmp_path / "a").exists()
    assert (tmp_path / "a.part").read_bytes() == BODY[:30]
    FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    assert server.behaviour.requests[-1][1] == "bytes=30-"
    assert not (tmp_path / "a.part").exists()


def test_a_server_that_ignores_ranges_starts_over(server, tmp_path):
    server.behaviour.files["/a"] = BODY
    server.behaviour.ignore_range = True
    server.behaviour.cut_after = [100_000]
    FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    assert [r for _, r in server.behaviour.requests] == [None, "bytes=100000-"]
    assert (tmp_path / "a").read_bytes() == BODY
    assert not (tmp_path / "a.part").exists()


def test_a_server_that_answers_another_range_is_not_believed(server, tmp_path):
    server.behaviour.files["/a"] = BODY
    server.behaviour.shift = 5
    (tmp_path / "a.part").write_bytes(BODY[:1000])
    FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    assert [r for _, r in server.behaviour.requests] == ["bytes=1000-", None]


def test_a_busy_server_is_asked_again(server, tmp_path):
    server.behaviour.files["/a"] = BODY
    server.behaviour.refuse = 2
    FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    server.behaviour.refuse = 3
    with pytest.raises(DownloadError, match=r"503 Service Unavailable \(3 attempts\)"):
        FAST.fetch(f"{server.url}/a", tmp_path / "b", whole)


def test_what_is_not_there_is_asked_for_once(server, tmp_path):
    with pytest.raises(DownloadError, match="/a: 404 Not Found"):
        FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    assert len(server.behaviour.requests) == 1


def test_a_complete_part_needs_no_further_bytes(server, tmp_path):
    server.behaviour.files["/a"] = BODY
    (tmp_path / "a.part").write_bytes(BODY)
    FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    assert [r for _, r in server.behaviour.requests] == [f"bytes={len(BODY)}-"]


@pytest.mark.parametrize("left", [b"another file", b"x" * (len(BODY) + 7)])
def test_a_part_of_another_file_is_thrown_away(server, tmp_path, left):
    server.behaviour.files["/a"] = BODY
    (tmp_path / "a.part").write_bytes(left)
    FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    assert (tmp_path / "a").read_bytes() == BODY


def test_what_does_not_pass_the_check_never_takes_the_name(server, tmp_path):
    server.behaviour.files["/a"] = BODY[:-1]
    with pytest.raises(
        DownloadError, match="/a: the downloaded file is wrong: these are other bytes"
    ):
        FAST.fetch(f"{server.url}/a", tmp_path / "a", whole)
    assert list(tmp_path.iterdir()) == []
    assert len(server.behaviour.requests) == 1


def test_a_server_that_is_not_there_is_named(server, tmp_path):
    server.http.server_close()
    with pytest.raises(DownloadError, match=r"refused \(3 attempts\)"):
        FAST.fetch(f"{server.url}/a", tmp_path / "a", accept)


def test_other_addresses_and_places_are_refused(server, tmp_path):
    with pytest.raises(DownloadError, match="starts with http:// or https://"):
        FAST.fetch("file:///etc/passwd", tmp_path / "a", accept)
    server.behaviour.files["/a"] = BODY
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match="cannot write .*file"):
        FAST.fetch(f"{server.url}/a", tmp_path / "file" / "a", accept)


# --- OGBench's data sets through it ---------------------------------------------------------


def archive(tmp_path, lengths=(3, 5), rows=None):
    ends = np.concatenate([np.eye(t + 1)[-1] for t in lengths])
    n = len(ends)
    path = tmp_path / "made.npz"
    np.savez(
        path,
        observations=np.arange(n * 2.0).reshape(n, 2),
        actions=np.ones((rows or n, 1)),
        terminals=ends,
    )
    return path.read_bytes()


def source(*servers, **settings):
    return OGBench(
        "cube-single-play-v0", base_urls=[s.url for s in servers], downloader=FAST, **settings
    )


FILE = "/cube-single-play-v0.npz"


def test_the_official_host_comes_first(server, mirror, tmp_path):
    server.behaviour.files = {
        FILE: archive(tmp_path),
        "/cube-single-play-v0-val.npz": archive(tmp_path, (2,)),
    }
    data = source(server, mirror)
    assert "to be downloaded" in data.describe()
    assert [len(e) for e in data.episodes()] == [3, 5]
    assert [len(e) for e in data.episodes("validation")] == [2]
    assert mirror.behaviour.requests == []
    assert (tmp_path / "data" / FILE[1:]).is_file()
    server.behaviour.files.clear()  # once here, nothing is asked for again
    assert [len(e) for e in source(server, mirror).episodes()] == [3, 5]


def test_the_mirror_finishes_what_the_host_began(server, mirror, tmp_path):
    body = archive(tmp_path)
    server.behaviour.files[FILE] = mirror.behaviour.files[FILE] = body
    server.behaviour.cut_after = [100, 100, 100]
    assert [len(e) for e in source(server, mirror).episodes()] == [3, 5]
    assert mirror.behaviour.requests == [(FILE, "bytes=300-")]


def test_a_damaged_file_at_the_host_sends_us_to_the_mirror(server, mirror, tmp_path):
    body = archive(tmp_path)
    damaged = bytearray(body)
    damaged[200] ^= 0xFF
    server.behaviour.files[FILE] = bytes(damaged)
    mirror.behaviour.files[FILE] = body
    assert [len(e) for e in source(server, mirror).episodes()] == [3, 5]
    assert mirror.behaviour.requests == [(FILE, None)]


def test_when_nobody_has_it_the_error_ends_with_the_command(server, mirror, tmp_path):
    server.behaviour.refuse = 3
    mirror.behaviour.files[FILE] = archive(tmp_path)[:-10]
    with pytest.raises(SourceError, match="cannot download cube-single-play-v0.npz") as caught:
        list(source(server, mirror).episodes())
    text = str(caught.value)
    assert text.endswith("goalsets data collect cube-single-play-v0")
    assert f"{server.url}{FILE}: 503 Service Unavailable (3 attempts)" in text
    assert f"{mirror.url}{FILE}: the downloaded file is wrong" in text
    assert "Nobody has" not in text
    assert not (tmp_path / "data" / FILE[1:]).exists()


def test_an_unknown_name_gets_the_near_one(server, mirror):
    data = OGBench("cube-singel-play-v0", base_urls=[server.url, mirror.url], downloader=FAST)
    with pytest.raises(
        SourceError,
        match="No server has a data set of that name: did you mean 'cube-single-play-v0'",
    ):
        data.fields()


def test_offline_nothing_is_asked_for(server):
    data = source(server, offline=True)
    assert not data.has_validation
    with pytest.raises(
        SourceError,
        match="'offline' forbids the download.* goalsets data collect cube-single-play-v0$",
    ):
        list(data.episodes())
    assert server.behaviour.requests == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (lambda path: archive(path, rows=4), "'actions' has 4 rows; expected 10"),
        (lambda path: archive(path)[:-30], "not a NumPy archive"),
        (lambda _: b"<html>Please log in</html>", "not a NumPy archive"),
    ],
)
def test_the_structure_of_a_download_is_checked(tmp_path, content, message):
    path = tmp_path / "a.npz"
    path.write_bytes(content(tmp_path))
    with pytest.raises(SourceError, match=message):
        check_file(path)


def test_the_mirror_honours_the_endpoint_of_the_hub(monkeypatch):
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert (
        mirror_url() == "https://huggingface.co/datasets/zhouzypaul/ogbench_datasets/resolve/main"
    )
    monkeypatch.setenv("HF_ENDPOINT", "https://hub.example/")
    assert mirror_url().startswith("https://hub.example/datasets/")
