"""The server with two hundred clients, a fifth of them slow, dead or hostile."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.line import Line
from benchmarks.rollout import untrained
from benchmarks.serve import resident
from benchmarks.server import serving

CLIENTS, REQUESTS, SECONDS = 200, 50_000, 480
# Limits high enough for all clients; the other limits keep their defaults.
WORDS = ("--sessions", "256", "--requests", "256", "--connections", "512")


def lines() -> Iterator[Line]:
    """Yield the lines."""
    with tempfile.TemporaryDirectory() as place:
        run = f"robot={untrained(Path(place))}"
        with serving("serve", run, *WORDS, says=r"serving on (\S+);") as url:
            _storm(url, REQUESTS // 50)  # warm up, so that one-time allocations are not counted
            before = resident(url)
            found = _storm(url, REQUESTS)
            grown = (resident(url) - before) / 2**20
    what = f"serve, {CLIENTS} clients, a fifth no good: round trip"
    yield Line(f"{what}, median", 1e3 * found["median"], "ms")
    yield Line(f"{what}, p99", 1e3 * found["p99"], "ms")
    yield Line("  requests a second", found["rate"], "1/s")
    yield Line("  attacks meanwhile", found["attacks"], "")
    yield Line("  requests", found["answered"], "", REQUESTS)
    yield Line("  refused", found["errors"], "", 0, at_most=True)
    yield Line("  clients that were cut", sum(found["trouble"].values()), "", 0, at_most=True)
    yield Line("  memory grown", grown, "MiB", 16.0, at_most=True)


def _storm(url: str, amount: int) -> dict[str, Any]:
    words = [url, str(CLIENTS), str(amount), str(SECONDS)]
    words = [sys.executable, "-m", "benchmarks.serve_storm", *words]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
