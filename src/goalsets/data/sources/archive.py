"""NumPy archives, opened with care: shapes without reading, and errors that name the key."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core.errors import suggest
from goalsets.data.sources.base import SourceError

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError)


class Archive:
    """An `.npz` file. Opening it reads its table of contents and the header of each array."""

    def __init__(self, path: Path) -> None:
        """Open the archive and read the shapes of its arrays."""
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise SourceError(f"there is no file {path}.") from None
        except (zipfile.BadZipFile, OSError) as error:
            raise SourceError(
                f"{path} is no NumPy archive, or only a part of one ({error}). "
                "Download or write it again."
            ) from None
        names = [name for name in self._zip.namelist() if name.endswith(".npy")]
        self._headers = {name.removesuffix(".npy"): self._header(name) for name in names}

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the arrays, in the order of the file."""
        return tuple(self._headers)

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape of an array, which is not read."""
        if key not in self._headers:
            raise SourceError(f"{self.path} has no array {key!r}: {suggest(key, self.keys)}")
        shape, dtype = self._headers[key]
        if dtype.hasobject:
            # Reading such an array would run code from the file.
            raise SourceError(
                f"{self.path}: {key!r} holds pickled Python objects, which are never read: "
                "save numbers, with episodes one after another or padded."
            )
        if not shape:
            raise SourceError(f"{self.path}: {key!r} is a single value: expected an array.")
        return shape

    def read(self, key: str) -> NDArray[Any]:
        """Read a whole array; its checksum is checked on the way."""
        expected = self.shape(key)
        try:
            with self._zip.open(f"{key}.npy") as member:
                array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
                # The archive's checksum is compared when the end is seen.
                member.read(1)
        except _DAMAGE as error:
            raise SourceError(
                f"{self.path}: {key!r} is damaged: expected {list(expected)} numbers ({error})."
            ) from None
        return array

    def check(self) -> None:
        """Read everything and compare all checksums."""
        try:
            damaged = self._zip.testzip()
        except _DAMAGE as error:
            raise SourceError(f"{self.path} is damaged ({error}).") from None
        if damaged is not None:
            raise SourceError(f"{self.path}: {damaged!r} is damaged: its checksum is wrong.")

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

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

    def _header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        try:
            with self._zip.open(name) as member:
                version = np.lib.format.read_magic(member)
                if version == (1, 0):
                    shape, _, dtype = np.lib.format.read_array_header_1_0(member)
                else:
                    shape, _, dtype = np.lib.format.read_array_header_2_0(member)
        except _DAMAGE as error:
            self.close()
            key = name.removesuffix(".npy")
            raise SourceError(
                f"{self.path}: {key!r} is damaged, or no NumPy array ({error})."
            ) from None
        return shape, dtype
