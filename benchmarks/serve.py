"""The policy server under load: latency of control loops, then 100,000 requests.

The server is `goalsets serve` in its own process, and the load comes from a second process.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from benchmarks.line import Line
from benchmarks.rollout import untrained
from benchmarks.server import serving

SESSIONS, RATE = 4, 200
REQUESTS = 100_000


def lines() -> Iterator[Line]:
    """Yield the lines."""
    with tempfile.TemporaryDirectory() as place, _serving(Path(place)) as url:
        paced = load(url, "paced", SESSIONS, RATE, 20)
        what = f"serve, {SESSIONS} sessions at {RATE} Hz: round trip"
        yield Line(f"{what}, median", 1e3 * paced["median"], "ms", 1.5, at_most=True)
        yield Line(f"{what}, p99", 1e3 * paced["p99"], "ms", 5.0, at_most=True)
        yield Line("  of the rate that was wanted", 100 * paced["rate"] / RATE, "%", 99.0)
        client = load(url, "client", 1, 0, 3_000)
        yield Line("  one session with our client, median", 1e3 * client["median"], "ms")
        posts = load(url, "posts", 1, 0, 2_000)
        yield Line("  one request of HTTP, median", 1e3 * posts["median"], "ms")
        # Warm up, so that one-time allocations are not counted.
        load(url, "flood", SESSIONS, 0, REQUESTS // 10)
        memory, halves = [resident(url)], []
        for _ in range(2):
            halves.append(load(url, "flood", SESSIONS, 0, REQUESTS // 2))
            memory.append(resident(url))
        rate = 2 / sum(1 / half["rate"] for half in halves)
        yield Line(f"serve, {REQUESTS:,} requests: a second", rate, "1/s")
        yield Line("  errors", sum(half["errors"] for half in halves), "", 0, at_most=True)
        yield Line("  memory grown", (memory[2] - memory[0]) / 2**20, "MiB", 1.0, at_most=True)
        # A leak would grow as much in the second half; one-time allocations do not.
        late = (memory[2] - memory[1]) / 2**20
        yield Line("  of that in the second half", late, "MiB", 0.5, at_most=True)


def _serving(place: Path) -> AbstractContextManager[str]:
    return serving("serve", f"robot={untrained(place)}", says=r"serving on (\S+);")


def load(url: str, kind: str, sessions: int, rate: float, amount: int) -> dict[str, Any]:
    """Run the load generator in a process of its own."""
    words = [url, kind, str(sessions), str(rate), str(amount)]
    command = [sys.executable, "-m", "benchmarks.serve_load", *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def resident(url: str) -> float:
    """Bytes of memory, from the server's own metrics."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    found = re.search(r"^process_resident_memory_bytes (\S+)$", text, re.MULTILINE)
    assert found is not None
    return float(found[1])
