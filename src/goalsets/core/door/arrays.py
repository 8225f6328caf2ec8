"""NumPy's own files: numbers only, and their size is known before memory is taken."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core.door.files import open_file
from goalsets.core.errors import FileError, GoalsetsError

NUMBERS = "biuf"
"""Kinds of dtype that hold real numbers."""
_MOST_AXES = 8

Shape = tuple[int, ...]
Header = tuple[Shape, bool, "np.dtype[Any]"]


def read_array(
    path: str | Path,
    *,
    mapped: bool = False,
    what: str = "",
    kind: type[GoalsetsError] = FileError,
) -> NDArray[Any]:
    """The array of an `.npy` file: numbers, as many as the file has room for.

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
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            return np.lib.format.read_array_header_1_0(file)
        return np.lib.format.read_array_header_2_0(file)
    except Exception as error:  # it is a Python literal, and many libraries have their say
        said = " ".join(str(error).split())[:200]
        raise kind(f"{place} is truncated or damaged: it is no NumPy array ({said}).") from None


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
    if math.prod(shape) == 0:  # the system maps no empty stretch
        return np.zeros(shape, dtype)
    return np.memmap(file, dtype, "r", start, shape, order)
