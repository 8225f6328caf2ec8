"""NumPy archives, opened with care: shapes without reading, and errors that name the key."""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core.door.arrays import Header, read_header
from goalsets.core.door.files import open_file
from goalsets.core.errors import FileError, GoalsetsError, suggest

FREE_BYTES = 256 << 20
"""An array of up to this size is read, however small its file is."""
MOST_SHRUNK = 100
"""A larger array may be up to this many times as large as its compressed bytes. Measured numbers
shrink by a tenth or a half; a file that shrinks by a thousand is made to fill memory."""
_MOST_MEMBERS = 10_000
_PIECE = 1 << 20

# zipfile and zlib raise these for damage, and for what they cannot read, such as encryption.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError,
           NotImplementedError, LookupError, TypeError, OverflowError, MemoryError)  # fmt: skip


class Archive:
    """An `.npz` file. Opening it reads its table of contents and the header of each array.

    Args:
        path: The file.
        kind: The error to raise.
        text: Accept arrays of text, too.
    """

    def __init__(
        self, path: Path, kind: type[GoalsetsError] = FileError, *, text: bool = False
    ) -> None:
        """Open the archive and read the shapes of its arrays."""
        self.path = path
        self._kind = kind
        self._accepted = "biufU" if text else "biufcSUV"
        if not path.exists():
            raise kind(f"there is no file {path}.")
        self._file: IO[bytes] = open_file(path, kind=kind)
        try:
            self._zip = zipfile.ZipFile(self._file)
            members = {m.filename: m for m in self._zip.infolist() if m.filename.endswith(".npy")}
        except _DAMAGE as error:
            self._file.close()
            raise kind(
                f"{path} is not a NumPy archive, or only a part of one ({error}). "
                "Download or write it again."
            ) from None
        try:
            if len(members) > _MOST_MEMBERS:
                raise kind(f"{path} has {len(members):,} arrays; up to {_MOST_MEMBERS:,} are read.")
            self._headers = {n.removesuffix(".npy"): self._header(m) for n, m in members.items()}
        except GoalsetsError:
            self.close()
            raise

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the arrays, in the order of the file."""
        return tuple(self._headers)

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape of an array. The array itself is not read."""
        shape = self.header(key)[0]
        if not shape:
            raise self._kind(f"{self.path}: {key!r} is a single value: expected an array.")
        return shape

    def header(self, key: str) -> Header:
        """Shape, order and dtype of an array. The array itself is not read."""
        if key not in self._headers:
            raise self._kind(f"{self.path} has no array {key!r}: {suggest(key, self.keys)}")
        dtype = self._headers[key][2]
        if dtype.hasobject:
            # Reading such an array would run code from the file.
            raise self._kind(
                f"{self.path}: {key!r} holds pickled Python objects, which are never read: "
                "save numbers, with episodes one after another or padded."
            )
        if dtype.kind not in self._accepted:
            raise self._kind(f"{self.path}: {key!r} must hold numbers, got {dtype}.")
        return self._headers[key]

    def read(self, key: str) -> NDArray[Any]:
        """Read a whole array and compare its checksum."""
        shape, fortran, dtype = self.header(key)
        try:
            with self._zip.open(f"{key}.npy") as member:
                read_header(member, f"{self.path}: {key!r}")
                data = np.empty(math.prod(shape) * dtype.itemsize, np.uint8)
                _fill(data.data, member)
            return np.ndarray(shape, dtype, data.data, order="F" if fortran else "C")
        except (FileError, *_DAMAGE) as error:
            raise self._kind(
                f"{self.path}: {key!r} is damaged: expected {list(shape)} numbers ({error})."
            ) from None

    def check(self) -> None:
        """Read everything and compare all checksums."""
        try:
            damaged = self._zip.testzip()
        except _DAMAGE as error:
            raise self._kind(f"{self.path} is damaged ({error}).") from None
        if damaged is not None:
            raise self._kind(f"{self.path}: {damaged!r} is damaged: its checksum is wrong.")

    def close(self) -> None:
        """Close the file."""
        self._zip.close()
        self._file.close()

    def __enter__(self) -> Archive:
        """Use the archive in a `with` statement."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def _header(self, member: zipfile.ZipInfo) -> Header:
        key = member.filename.removesuffix(".npy")
        place = f"{self.path}: {key!r}"
        if member.file_size > max(FREE_BYTES, MOST_SHRUNK * member.compress_size):
            raise self._kind(
                f"{place} is refused: {member.compress_size:,} bytes would become "
                f"{member.file_size:,}; measured data does not compress so far."
            )
        try:
            with self._zip.open(member) as file:
                shape, fortran, dtype = read_header(file, place)
                there = member.file_size - file.tell()
        except (FileError, *_DAMAGE) as error:
            raise self._kind(f"{place} is damaged, or not a NumPy array ({error}).") from None
        if not dtype.hasobject and math.prod(shape) * dtype.itemsize != there:
            raise self._kind(
                f"{place} is damaged: {dtype}{list(shape)} takes "
                f"{math.prod(shape) * dtype.itemsize:,} bytes, got {there:,}."
            )
        return shape, fortran, dtype


def _fill(place: memoryview, member: IO[bytes]) -> None:
    """Read exactly as many bytes as there is room for; zipfile then compares the checksum."""
    filled = 0
    while part := member.read(_PIECE):
        if filled + len(part) > len(place):
            raise ValueError("it has more bytes than its header says")
        place[filled : filled + len(part)] = part
        filled += len(part)
    if filled < len(place):
        raise EOFError(f"it has {filled:,} bytes, expected {len(place):,}")
