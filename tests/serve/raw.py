"""Bytes on a connection: what a client that keeps to no rules can send, and what comes back."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator

from tests.serve.conftest import TOKEN, Server

KEY = "Authorization: Bearer " + TOKEN
UPGRADE = (
    "GET /v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}Upgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    "Sec-WebSocket-Version: 13\r\n\r\n"
)


@contextlib.contextmanager
def connection(server: Server) -> Iterator[socket.socket]:
    with socket.create_connection(server.address, timeout=15) as opened:
        yield opened


def read_all(opened: socket.socket) -> bytes:
    """Everything until the server ends the connection; it must, within the time of the socket."""
    found = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while part := opened.recv(2**16):
            found += part
    return bytes(found)


def exchange(server: Server, sent: bytes, *, half_close: bool = False) -> bytes:
    """Send, say that nothing follows if that is wanted, and read until the server closes."""
    with connection(server) as opened:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            opened.sendall(sent)
            if half_close:
                with contextlib.suppress(OSError):  # the server may have closed it already
                    opened.shutdown(socket.SHUT_WR)
        return read_all(opened)


def get(path: str, host: str = "127.0.0.1") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()


def status(answer: bytes) -> int | None:
    """The status of an answer; None where the connection was closed without one."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else None


def upgrade(opened: socket.socket, more: str = "") -> None:
    """Become a WebSocket by hand."""
    opened.sendall(UPGRADE.format(more=more).encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        part = opened.recv(4096)
        assert part, answer
        answer += part
    assert answer.startswith(b"HTTP/1.1 101"), answer


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True, rsv: int = 0) -> bytes:
    """A frame as a client must send it: masked."""
    first = (0x80 if fin else 0) | rsv << 4 | opcode
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", first, 0x80 | size)
    elif size < 2**16:
        head = struct.pack("!BBH", first, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, size)
    mask = os.urandom(4)
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


def close_code(answer: bytes) -> int | None:
    """The code of the closing frame among the short frames of an answer."""
    at = 0
    while at + 2 <= len(answer):
        opcode, size = answer[at] & 15, answer[at + 1] & 127
        start = at + 2
        if size == 126:
            size, start = int.from_bytes(answer[at + 2 : at + 4], "big"), at + 4
        if opcode == 8:
            return int.from_bytes(answer[start : start + 2], "big")
        at = start + size
    return None


def until(condition, seconds: float = 15.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
