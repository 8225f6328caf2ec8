"""How many numbers a Parquet file has, from its footer alone.

pyarrow can tell it, too. But some damaged footers end the process when pyarrow is asked about a
column: its C++ code throws an exception that no caller can catch. When it reads the numbers, it
catches the same exception. So we read this one count ourselves.

The footer is a structure of Thrift's compact protocol:
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

MAGIC: Final = b"PAR1"
MOST_BYTES: Final = 1 << 28
"""Of a footer. The footer of a set with millions of rows has some megabytes."""
DEEPEST: Final = 32

COUNT: Final = (4, 1, 3, 5)
"""The fields that lead to a count: row groups, their columns, what is known of one, its values."""

BINARY, LIST, SET, MAP, STRUCT = 8, 9, 10, 11, 12
VARINTS: Final = (4, 5, 6)
BYTES: Final = {1: 1, 2: 1, 3: 1, 7: 8, 13: 16}
"""The size of the types that always take as many bytes: booleans, i8, double, UUID."""


def count_values(path: Path) -> int:
    """How many numbers the columns of a file have together; ValueError if its footer is damaged."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < 12:
            raise ValueError(f"it has {size} bytes")
        file.seek(-8, 2)
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != MAGIC:
            raise ValueError("it does not end with 'PAR1'")
        if length > min(size - 8, MOST_BYTES):
            raise ValueError(f"it has a footer of {length:,} bytes; the file has {size:,}")
        file.seek(-8 - length, 2)
        footer = file.read(length)
    try:
        counts = list(_Compact(footer).find(STRUCT, COUNT))
    except IndexError:
        raise ValueError("its footer ends too soon") from None
    if counts and min(counts) < 0:
        raise ValueError(f"a column has {min(counts)} values")
    return sum(counts)


class _Compact:
    """Reads a structure from its first byte to its last."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def find(self, kind: int, fields: tuple[int, ...] | None, depth: int = 0) -> Iterator[int]:
        """Read past a value, and give the integers that the fields lead to.

        The fields are those of one structure in another. A list between them needs none, and all
        its items count. None leads nowhere.
        """
        if depth > DEEPEST:
            raise ValueError("its footer is nested too deep")
        if kind in VARINTS:
            number = self._varint()
            if fields == ():
                yield (number >> 1) ^ -(number & 1)
        elif kind in BYTES:
            self._skip(BYTES[kind])
        elif kind == BINARY:
            self._skip(self._varint())
        elif kind in (LIST, SET):
            for _ in range(self._length(head := self._byte())):
                yield from self.find(head & 15, fields, depth + 1)
        elif kind == MAP:
            yield from self._find_in_map(depth)
        elif kind == STRUCT:
            yield from self._find_in_struct(fields, depth)
        else:
            raise ValueError(f"its footer has a value of the unknown type {kind}")

    def _find_in_struct(self, fields: tuple[int, ...] | None, depth: int) -> Iterator[int]:
        field = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = 0 if step else self._varint()
            field = field + step if step else (number >> 1) ^ -(number & 1)
            if kind in (1, 2):  # in a structure, the type is the boolean
                continue
            inner = fields[1:] if fields and field == fields[0] else None
            yield from self.find(kind, inner, depth + 1)

    def _find_in_map(self, depth: int) -> Iterator[int]:
        if count := self._varint():
            kinds = self._byte()
            for _ in range(count):
                yield from self.find(kinds >> 4, None, depth + 1)
                yield from self.find(kinds & 15, None, depth + 1)

    def _length(self, head: int) -> int:
        return head >> 4 if head >> 4 < 15 else self._varint()

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > len(self._data):
            raise IndexError

    def _varint(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("its footer has an integer of more than ten bytes")
