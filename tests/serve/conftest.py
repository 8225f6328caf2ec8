"""Small runs, and real servers in processes of their own, made once for all tests of a process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from goalsets.data.store import Store
from goalsets.runs.run import Run
from goalsets.serve.client import Client
from goalsets.serve.models import Model, open_models
from tests.evaluate.conftest import make_run, make_store
from tests.processes import started

SMALL = {"hidden": 32, "steps": 6, "batch_size": 16}

TOKEN = "a-token-that-is-long-enough"


@dataclass(frozen=True)
class Server:
    """A server's process and where it listens."""

    url: str
    process: subprocess.Popen[str]

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        return host, int(port)

    @property
    def ws(self) -> str:
        return f"ws{self.url.removeprefix('http')}/v1/session"

    def resident(self) -> int:
        """Bytes of memory, as the system sees it."""
        text = Path(f"/proc/{self.process.pid}/statm").read_text()
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def start(*words: str, **variables: str) -> Iterator[Server]:
    """`goalsets serve` as a user runs it, on a free port; it must end in order."""
    says = r"serving on (\S+);"
    with started("serve", *words, says=says, stop=signal.SIGTERM, variables=variables) as server:
        yield Server(server.url, server.process)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("data") / "tabletop-single-v0")


@pytest.fixture(scope="session")
def robot(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "gcdl", store, learner="gcdl", **SMALL)


@pytest.fixture(scope="session")
def full(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "full", store, scheme="her-full", **SMALL)


@pytest.fixture(scope="session")
def task(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "task", store, scheme="her-task", **SMALL)


@pytest.fixture(scope="session")
def model(robot: Run) -> Model:
    return open_models([f"robot={robot.path}"]).find(None)


@pytest.fixture(scope="session")
def server(robot: Run, full: Run) -> Iterator[Server]:
    """With two models and the limits that it comes with."""
    with start(f"robot={robot.path}", f"full={full.path}") as started:
        yield started


@pytest.fixture
def alive(server: Server) -> Iterator[Server]:
    """The server, which must answer as before when the test is over."""
    with Client(server.url, "robot") as client:
        before = client.act(np.zeros(18), np.ones(18), "all")
        yield server
        np.testing.assert_array_equal(client.act(np.zeros(18), np.ones(18), "all"), before)


LIMITS = {
    "body-bytes": 20_000,
    "message-bytes": 4_000,
    "batch-rows": 40,
    "waiting-batches": 2,
    "requests": 3,
    "sessions": 2,
    "header-seconds": 1,
    "body-seconds": 1,
    "send-seconds": 1,
    "ping-seconds": 1,
    "idle-seconds": 3,
    "errors-in-a-row": 3,
    "drain-seconds": 4,
}
TIGHT = [word for name, bound in LIMITS.items() for word in (f"--{name}", str(bound))]


@pytest.fixture(scope="session")
def tight(robot: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With limits that a test can reach, open to other machines, and so with a token."""
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text(TOKEN + "\n")
    words = ("--host", "0.0.0.0", "--token-file", str(file))
    with start(f"robot={robot.path}", *words, *TIGHT) as started:
        yield Server(started.url.replace("0.0.0.0", "127.0.0.1"), started.process)
