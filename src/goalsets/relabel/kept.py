"""Tables that are computed from a store once, and stored beside it.

The name of a table's file contains a digest of everything that the table depends on, so it is never
out of date. The file is written under another name and then renamed, so that no process reads an
incomplete file. It ends with a digest of its content and its name; a file that is damaged or
renamed is computed again. If the directory cannot be written, the table stays in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from goalsets.core.door import open_file
from goalsets.data.pages import pieces
from goalsets.data.store import DERIVED
from goalsets.relabel.held import Held
from goalsets.relabel.units import Unit
from goalsets.workers import silence

VERSION = 1
"""The version of the tables' rule: if the rule changes, it must change too."""
MAPPED_BYTES = 64 << 20
"""Larger tables are mapped, not read."""
_DIGEST_BYTES = 16
_FORGOTTEN = 24 * 3600.0
"""A temporary file older than this, in seconds, belongs to a process that was killed."""

Shape = tuple[int, int]
Make = Callable[[], Iterator[Held]]


@dataclass(frozen=True)
class Kept:
    """Reads and writes the tables of some data."""

    directory: Path
    name: str
    """The name of the tables, such as `arrivals-train`."""
    fingerprint: str
    """The fingerprint of the data."""
    say: Callable[[str], None] = silence
    """Called with a message if a table cannot be written."""

    def table(self, kind: str, units: Sequence[Unit], shape: Shape, make: Make) -> Held:
        """Read a table, or compute and store it.

        Args:
            kind: Its name among the tables of this data.
            units: Its columns.
            shape: Rows and columns.
            make: Computes its rows, piece by piece.
        """
        key = self._key(kind, units)
        path = self.directory / f"{DERIVED}{self.name}-{kind}-{key}.npy"
        found = _read(path, shape, key)
        if found is not None:
            return found
        if 2 * shape[0] * shape[1] <= MAPPED_BYTES:
            found = np.concatenate(list(make()))
            self._keep(path, shape, key, lambda: iter([found]))
            return found
        self._keep(path, shape, key, make)
        found = _read(path, shape, key)
        return np.concatenate(list(make())) if found is None else found

    def _keep(self, path: Path, shape: Shape, key: str, make: Make) -> None:
        try:
            _write(path, shape, key, make)
        except OSError as error:
            self.say(
                f"{path} cannot be written ({error.strerror or error}); training continues, but "
                "the table is computed again next time."
            )

    def _key(self, kind: str, units: Sequence[Unit]) -> str:
        plain = [
            [unit.indices, unit.metric, unit.tolerance.hex(), [s.hex() for s in unit.scale]]
            for unit in units
        ]
        text = json.dumps([VERSION, self.name, kind, self.fingerprint, plain])
        return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _header(shape: Shape) -> bytes:
    """The header of a `.npy` file, so that other programs can read the file too."""
    described: dict[str, Any] = {"descr": "<u2", "fortran_order": False, "shape": shape}
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


def _state(key: str) -> Any:  # noqa: ANN401 - hashlib does not name the type
    """Start a digest that depends on the file's name: a renamed file has another digest."""
    return hashlib.blake2b(digest_size=_DIGEST_BYTES, key=key.encode())


def _write(path: Path, shape: Shape, key: str, make: Make) -> None:
    _clear_away(path.parent)
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.tmp")
    state = _state(key)
    try:
        with temporary.open("xb") as file:
            file.write(_header(shape))
            for part in make():
                data = part.astype("<u2", copy=False).data
                state.update(data)
                file.write(data)
            file.write(state.digest())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _read(path: Path, shape: Shape, key: str) -> Held | None:
    """The table, or None if the file is missing, damaged or of another table."""
    header, size = _header(shape), 2 * shape[0] * shape[1]
    try:
        with open_file(path) as file:
            if file.read(len(header)) != header:
                return None
            file.seek(len(header) + size)
            written = file.read()
            if len(written) != _DIGEST_BYTES:
                return None
            file.seek(len(header))
            if size > MAPPED_BYTES:
                table: Held = np.memmap(path, "<u2", "r", len(header), shape)
            else:
                table = np.empty(shape, "<u2")
                file.readinto(table.data)
    except (OSError, ValueError):  # also a FileError
        return None
    state = _state(key)
    for _, part in pieces(table, 1 << 20):
        state.update(np.ascontiguousarray(part).data)
    return table if state.digest() == written else None


def _clear_away(directory: Path) -> None:
    """Remove temporary files of killed processes."""
    for path in directory.glob(f"{DERIVED}*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > _FORGOTTEN:
                path.unlink()
