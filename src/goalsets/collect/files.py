"""Writes files in one step, and joins shards into a file of OGBench's format."""

from __future__ import annotations

import contextlib
import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from goalsets.collect.errors import CollectError
from goalsets.core.door import Archive

T = TypeVar("T")


def write_in_one_step(
    path: Path, write: Callable[[IO[bytes]], T], temporary: Path | None = None
) -> T:
    """Write a file so that it is either complete or does not exist, even if the machine stops.

    Args:
        path: The file.
        write: Writes to the open file that it is given; its result is returned.
        temporary: The file to write to first, on the same file system; by default beside `path`.
    """
    temporary = temporary or path.with_suffix(".tmp")
    with explained(path):
        with temporary.open("wb") as file:
            result = write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        # The new name is safe only when the directory is written too.
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    return result


def write_json(path: Path, content: object, temporary: Path | None = None) -> None:
    """Write JSON in one step."""
    text = json.dumps(content, indent=2) + "\n"
    write_in_one_step(path, lambda file: file.write(text.encode()), temporary)


def join(shards: Sequence[Path], file: IO[bytes]) -> int:
    """Write the rows of all shards, in their order, as one `.npz` archive; return their number.

    Only one array of one shard is in memory at a time. Nothing is compressed: compression would
    save only a seventh, and take 15 seconds instead of one for a million rows of cube-single.
    """
    headers = _headers(shards[0])
    counts = [_rows(shard) for shard in shards]
    rows = sum(counts)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:  # noqa: TID251 - it writes
        for key, header in headers.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                shape = (rows, *header["shape"][1:])
                whole = {**header, "shape": shape, "fortran_order": False}
                np.lib.format.write_array_header_1_0(member, whole)
                for shard, count in zip(shards, counts, strict=True):
                    array = _read(shard, key, header["descr"], (count, *shape[1:]))
                    member.write(np.ascontiguousarray(array).data)
    return rows


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an error of the system into one that names the file."""
    try:
        yield
    except OSError as error:
        raise CollectError(f"cannot write {path}: {error.strerror}.") from error


def _headers(shard: Path) -> dict[str, dict[str, Any]]:
    with Archive(shard, CollectError) as archive:
        return {
            key: np.lib.format.header_data_from_array_1_0(archive.read(key)) for key in archive.keys
        }


def _rows(shard: Path) -> int:
    with Archive(shard, CollectError) as archive:
        return archive.shape("terminals")[0]


def _read(shard: Path, key: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of a shard, of the type and shape that the first shard has."""
    with Archive(shard, CollectError) as archive:
        array = archive.read(key)
    if (array.dtype.str, array.shape) != (dtype, shape):
        raise CollectError(
            f"{shard}: expected {key} to be {dtype} {shape}, as in the other files, got "
            f"{array.dtype.str} {array.shape}. Collect again with --force."
        )
    return array
