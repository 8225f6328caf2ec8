"""Read and write protocol buffers: just enough to check a file before it is used.

A message is a sequence of fields. Each begins with its number and its encoding: a varint, four or
eight bytes, or a length followed by that many bytes. Such bytes may be a message again.
"""

from __future__ import annotations

from collections.abc import Iterator

NUMBER, EIGHT_BYTES, BYTES, FOUR_BYTES = 0, 1, 2, 5


class WireError(ValueError):
    """Bytes are not a message."""


def read_fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field: an integer, or bytes, which are not copied."""
    position = 0
    while position < len(data):
        tag, position = _read_number(data, position)
        kind = tag & 7
        if kind == NUMBER:
            value, position = _read_number(data, position)
            yield tag >> 3, value
            continue
        if kind == BYTES:
            length, position = _read_number(data, position)
        elif kind in (EIGHT_BYTES, FOUR_BYTES):
            length = 8 if kind == EIGHT_BYTES else 4
        else:
            raise WireError(f"a field of unknown kind {kind}")
        if length > len(data) - position:
            raise WireError("a field that is longer than the file")
        yield tag >> 3, data[position : position + length]
        position += length


def read_numbers(data: memoryview) -> list[int]:
    """Whole numbers that were written one after another."""
    found: list[int] = []
    position = 0
    while position < len(data):
        value, position = _read_number(data, position)
        found.append(signed(value))
    return found


def signed(value: int) -> int:
    """Restore the sign of a number: negative numbers are written as large ones."""
    return value - (1 << 64) if value >= 1 << 63 else value


def _read_number(data: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise WireError("a number without an end")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise WireError("a number of more than 64 bits")


def write_number(number: int, value: int) -> bytes:
    """A field with a number in it."""
    return _number(number << 3 | NUMBER) + _number(value)


def write_bytes(number: int, value: bytes | memoryview) -> bytes:
    """A field with bytes, or a message, in it."""
    return b"".join((_number(number << 3 | BYTES), _number(len(value)), value))


def _number(value: int) -> bytes:
    pieces = bytearray()
    while value > 0x7F:
        pieces.append(value & 0x7F | 0x80)
        value >>= 7
    pieces.append(value)
    return bytes(pieces)
