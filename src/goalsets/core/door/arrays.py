"""NumPy's `.npy` files: numbers only, and the size is checked before memory is taken."""

from __future__ import annotations

import ast
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core.door.files import open_file
from goalsets.core.door.fit import fit
from goalsets.core.errors import FileError, GoalsetsError

NUMBERS = "biuf"
"""Kinds of dtype that hold real numbers."""
_MOST_AXES = 8
_HEADER_BYTES = 10_000
_LONG = re.compile(r"(?<=[0-9])L\b")
"""The end of a whole number in files that Python 2 wrote."""


@dataclass(frozen=True)
class _Plain:
    """The content of a header."""

    descr: Any
    fortran_order: bool
    shape: tuple[int, ...]


Shape = tuple[int, ...]
Header = tuple[Shape, bool, "np.dtype[Any]"]


def read_array(
    path: str | Path,
    *,
    mapped: bool = False,
    what: str = "",
    kind: type[GoalsetsError] = FileError,
) -> NDArray[Any]:
    """Read the array of an `.npy` file: numbers only, exactly as many as the file has bytes for.

    Args:
        path: The file.
        mapped: Map it into memory instead of reading it.
        what: What it should be, for messages.
        kind: The error to raise.
    """
    with open_file(path, what=what, kind=kind) as file:
        shape, fortran, dtype = read_header(file, str(path), kind)
        start, size = file.tell(), os.fstat(file.fileno()).st_size
        check_numbers(shape, dtype, size - start, str(path), kind)
        order = "F" if fortran else "C"
        try:
            if mapped:
                return _mapped(file, dtype, start, shape, order)
            values: NDArray[Any] = np.fromfile(file, dtype, math.prod(shape))
            return np.reshape(values, shape, order=order)
        except (OSError, ValueError, MemoryError) as error:
            raise kind(f"{path} is truncated or damaged: {error}.") from None


def read_header(file: IO[bytes], place: str, kind: type[GoalsetsError] = FileError) -> Header:
    """Shape, order and dtype of an array; the file then stands at its first number."""
    try:
        return _parse_header(file)
    except Exception as error:  # the header is a Python literal: parsing it can fail in many ways
        said = " ".join(str(error).split())[:200]
        raise kind(f"{place} is truncated or damaged: it is not a NumPy array ({said}).") from None


def _parse_header(file: IO[bytes]) -> Header:
    # NumPy's own parser takes seconds for a few kilobytes of a damaged header: it then looks for
    # the whole numbers of Python 2 (12L) with a tokenizer that takes quadratic time.
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"unknown version {version}")
    size = int.from_bytes(file.read(2 if version == (1, 0) else 4), "little")
    if size > _HEADER_BYTES:
        raise ValueError(f"a header of {size:,} bytes; up to {_HEADER_BYTES:,} are read")
    data = file.read(size)
    if len(data) < size:
        raise ValueError(f"its header should have {size:,} bytes, got {len(data):,}")
    text = data.decode("utf-8" if version == (3, 0) else "latin-1").strip()
    found: _Plain = fit(ast.literal_eval(_LONG.sub("", text)), _Plain, "its header")
    return found.shape, found.fortran_order, np.lib.format.descr_to_dtype(found.descr)


def check_numbers(
    shape: Shape, dtype: np.dtype[Any], there: int, place: str, kind: type[GoalsetsError]
) -> None:
    """Raise an error unless an array holds numbers and its bytes are there."""
    if dtype.kind not in NUMBERS or dtype.names is not None:
        raise kind(f"{place}: expected an array of numbers, got {dtype}.")
    if len(shape) > _MOST_AXES or min(shape, default=0) < 0:
        raise kind(f"{place}: expected up to {_MOST_AXES} axes, got shape {list(shape)[:9]}.")
    size = math.prod(shape) * dtype.itemsize
    if size != there:
        raise kind(
            f"{place} is truncated or damaged: {dtype}{list(shape)} takes {size:,} bytes, "
            f"got {there:,}."
        )


def _mapped(
    file: IO[bytes],
    dtype: np.dtype[Any],
    start: int,
    shape: Shape,
    order: Any,  # noqa: ANN401
) -> NDArray[Any]:
    if math.prod(shape) == 0:  # the system cannot map zero bytes
        return np.zeros(shape, dtype)
    return np.memmap(file, dtype, "r", start, shape, order)
