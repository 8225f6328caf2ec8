"""Two hundred clients at once, some slow, some dead, some hostile: `python -m benchmarks storm`.

The good clients send requests as fast as they are answered, in sessions and over HTTP. At the same
time, slow clients send a byte now and then, dead ones connect and send nothing, and hostile ones
send invalid data. All traffic stays on this machine, and is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import connect

from benchmarks.serve_load import ASK, GOAL, MESSAGES, QUERY, STATES, _ask, _observe, _summary, _ws

BODIES = [
    json.dumps({"observation": s.tolist(), "goal": GOAL.tolist(), "query": QUERY}).encode()
    for s in STATES[:32]
]
UPGRADE = (
    b"GET /v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


async def storm(url: str, clients: int, amount: int, seconds: float) -> dict[str, Any]:
    """Half of the clients use sessions, three tenths use HTTP, and a fifth are bad.

    It ends after `amount` requests, or after `seconds` on a busy machine.
    """
    end = time.perf_counter() + seconds
    left, over = amount, asyncio.Event()
    bad = clients // 5
    posts = 3 * clients // 10
    errors: dict[str, int] = {}

    def take() -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and time.perf_counter() < end

    async def session() -> list[float]:
        times: list[float] = []
        async with connect(_ws(url), compression=None, proxy=None, open_timeout=120) as socket:
            await _ask(socket)
            while take():
                times.append(await _observe(socket, left))
        return times

    async def caller() -> list[float]:
        times: list[float] = []
        reader, writer = await asyncio.open_connection(*_place(url))
        while take():
            start = time.perf_counter()
            status = await _post(reader, writer, BODIES[left % len(BODIES)])
            times.append(time.perf_counter() - start if status == 200 else -1.0)
        writer.close()
        return times

    async def good(kind: Any) -> list[float]:
        try:
            return await kind()
        except Exception as error:
            errors[repr(error)[:80]] = errors.get(repr(error)[:80], 0) + 1
            return []

    start = time.perf_counter()
    pests = [asyncio.ensure_future(_pester(url, over, kind)) for kind in range(bad)]
    kinds = [session] * (clients - bad - posts) + [caller] * posts
    told = await asyncio.wait_for(asyncio.gather(*(good(kind) for kind in kinds)), seconds + 120)
    elapsed = time.perf_counter() - start
    over.set()
    attacks = sum(await asyncio.gather(*pests))
    found = _summary([t for part in told for t in part], elapsed, 1)
    return {**found, "answered": sum(map(len, told)), "attacks": attacks, "trouble": errors}


async def _post(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> int:
    head = f"POST /v1/act HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    size = next(
        int(line.split(b":")[1])
        for line in answer.lower().split(b"\r\n")
        if b"content-length" in line
    )
    await reader.readexactly(size)
    return int(answer.split(b" ", 2)[1])


async def _pester(url: str, over: asyncio.Event, kind: int) -> int:
    """Attack again and again as a slow, dead or hostile client; return how often."""
    rng, times = random.Random(kind), 0
    while not over.is_set():
        times += 1
        with contextlib.suppress(OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(*_place(url))
            try:
                await asyncio.wait_for(_attack(kind % 5, rng, reader, writer), 8)
            finally:
                writer.transport.abort()
        await asyncio.sleep(0.05)
    return times


async def _attack(
    kind: int, rng: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    if kind == 0:  # dead
        await reader.read()
    elif kind == 1:  # slow
        for byte in b"POST /v1/act HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n":
            writer.write(bytes([byte]))
            await asyncio.sleep(0.5)
    elif kind == 2:  # does not read
        writer.write(UPGRADE + _frame(ASK.encode()) + _frame(MESSAGES[0].encode()) * 2_000)
        await asyncio.sleep(6)
    elif kind == 3:  # fragments, and a message of many values that are none
        bad = json.dumps({"type": "observe", "observation": ["a"] * 12_000}).encode()
        writer.write(UPGRADE + _frame(bad) + b"\x01\x80\0\0\0\0" + b"\x00\x80\0\0\0\0" * 20_000)
        await reader.read()
    else:  # noise
        writer.write(rng.choice([b"", b"GET / HTTP/1.1\r\n", UPGRADE]) + os.urandom(10_000))
        await reader.read()


def _frame(payload: bytes) -> bytes:
    size = len(payload)
    head = bytes([0x81, 0x80 | size]) if size < 126 else b"\x81\xfe" + size.to_bytes(2, "big")
    return head + b"\0\0\0\0" + payload  # a mask of zeros changes nothing


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return parts.hostname, parts.port


if __name__ == "__main__":
    place, count, most, patience = sys.argv[1:]
    print(json.dumps(asyncio.run(storm(place, int(count), int(most), float(patience)))))
