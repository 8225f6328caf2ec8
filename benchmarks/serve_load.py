"""The load generator of `benchmarks.serve`: `python -m benchmarks.serve_load URL KIND …`.

    paced   SESSIONS sessions that send RATE observations a second each, for AMOUNT seconds
    flood   AMOUNT requests, as fast as they are answered: most in SESSIONS sessions, a fifth over
            one connection of HTTP, and a tenth over one each
    client  one session of our own client, AMOUNT observations
    posts   one caller of HTTP, AMOUNT requests

Prints one line of JSON: the quantiles of the round trip in seconds, the rate and the errors. It
does not import torch, and runs all sessions in one thread with the asynchronous WebSocket client,
so that it measures the server and not the threads of this program.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from goalsets.serve.client import Client, ClientError

DIM, QUERY = 28, "block0_pos & eff_yaw:20deg"
_RNG = np.random.default_rng(0)
STATES = _RNG.standard_normal((256, DIM)).astype(np.float32)
GOAL = _RNG.standard_normal(DIM).astype(np.float32)
MESSAGES = [json.dumps({"type": "observe", "observation": s.tolist()}) for s in STATES]
_ERROR = -1.0
"""The time of a refused request: it is counted, but left out of the quantiles."""
ASK = json.dumps({"type": "ask", "goal": GOAL.tolist(), "query": QUERY})


def main(words: list[str]) -> None:
    """Read the command line, and print what was measured."""
    url, kind, sessions, rate, amount = words[0], words[1], int(words[2]), float(words[3]), words[4]
    gc.freeze()
    if kind == "paced":
        found = asyncio.run(paced(url, sessions, rate, float(amount)))
    elif kind == "flood":
        found = asyncio.run(flood(url, sessions, int(amount)))
    elif kind == "client":
        found = client(url, int(amount))
    else:
        found = posts(url, int(amount))
    print(json.dumps(found))


async def paced(url: str, sessions: int, rate: float, seconds: float) -> dict[str, Any]:
    start = time.perf_counter() + 0.5

    async def loop(offset: float) -> list[float]:
        times: list[float] = []
        async with connect(_ws(url), compression=None, proxy=None) as socket:
            await _ask(socket)
            for i in range(int(seconds * rate)):
                pause = start + offset + i / rate - time.perf_counter()
                if pause > 0:
                    await asyncio.sleep(pause)
                times.append(await _observe(socket, i))
        return times

    # Robots are not synchronised, so spread the sessions over the period.
    told = await asyncio.gather(*(loop(k / rate / sessions) for k in range(sessions)))
    elapsed = time.perf_counter() - start
    return _summary([t for times in told for t in times], elapsed, sessions)


async def flood(url: str, sessions: int, amount: int) -> dict[str, Any]:
    start = time.perf_counter()
    kept, fresh = amount // 5, amount // 10
    left = amount - kept - fresh

    async def loop() -> list[float]:
        nonlocal left
        times: list[float] = []
        async with connect(_ws(url), compression=None, proxy=None) as socket:
            await _ask(socket)
            while left > 0:
                left -= 1
                times.append(await _observe(socket, left))
        return times

    callers = [asyncio.to_thread(_post, url, kept), asyncio.to_thread(_post, url, fresh, 1)]
    told = await asyncio.gather(*(loop() for _ in range(sessions)), *callers)
    elapsed = time.perf_counter() - start
    times = [t for part in told for t in part]
    assert len(times) == amount, len(times)
    return _summary(times, elapsed, 1)


def client(url: str, amount: int) -> dict[str, Any]:
    times: list[float] = []
    with Client(url) as asking, asking.session(GOAL, QUERY) as session:
        for i in range(amount):
            start = time.perf_counter()
            session.act(STATES[i % len(STATES)])
            times.append(time.perf_counter() - start)
    return _summary(times, sum(times), 1)


def posts(url: str, amount: int) -> dict[str, Any]:
    times = _post(url, amount)
    return _summary(times, sum(times), 1)


def _post(url: str, amount: int, for_each_connection: int | None = None) -> list[float]:
    times: list[float] = []
    with Client(url) as asking:
        for i in range(amount):
            if for_each_connection and i % for_each_connection == 0:
                asking.close()
            start = time.perf_counter()
            try:
                asking.act(STATES[i % len(STATES)], GOAL, QUERY)
            except ClientError:
                times.append(_ERROR)
            else:
                times.append(time.perf_counter() - start)
    return times


async def _ask(socket: ClientConnection) -> None:
    await socket.send(ASK)
    answer = json.loads(await socket.recv())
    assert answer["type"] == "asked", answer


async def _observe(socket: ClientConnection, i: int) -> float:
    start = time.perf_counter()
    await socket.send(MESSAGES[i % len(MESSAGES)])
    answer = await socket.recv()
    seconds = time.perf_counter() - start
    return seconds if '"type":"act"' in str(answer) else _ERROR


def _summary(times: list[float], elapsed: float, sessions: int) -> dict[str, Any]:
    good = np.array([t for t in times if t >= 0])
    return {
        "median": float(np.median(good)),
        "p99": float(np.percentile(good, 99)),
        "largest": float(good.max()),
        "rate": len(good) / elapsed / sessions,
        "errors": len(times) - len(good),
    }


def _ws(url: str) -> str:
    return f"ws{url.removeprefix('http')}/v1/session"


if __name__ == "__main__":
    main(sys.argv[1:])
