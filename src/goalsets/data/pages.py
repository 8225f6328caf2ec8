"""Controls which pages of a memory-mapped array are in memory.

A page of a mapped file becomes resident when it is read, and stays resident until the kernel needs
the memory. So a process that has read 10 GB once appears to use 10 GB. Here a process tells the
kernel which rows it will read and which it no longer needs. Arrays that are not mapped are not
affected.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Linux: read and map a whole range in one call instead of many page faults. Python has no name for
# this yet. An old kernel refuses it; the pages are then read by page faults as usual.
_MADV_POPULATE_READ = 22
_MADV_WILLNEED = getattr(mmap, "MADV_WILLNEED", None)
_MADV_DONTNEED = getattr(mmap, "MADV_DONTNEED", None)
_FAULT_AROUND = 1 << 16
"""Linux maps an aligned range of this size around a page that is read from the page cache."""


def announce(array: NDArray[Any], start: int, stop: int) -> None:
    """Start reading rows from disk in the background, because they are needed soon."""
    _advise(array, start, stop, _MADV_WILLNEED)


def bring_in(array: NDArray[Any], start: int, stop: int) -> None:
    """Read rows from disk now, in one call."""
    _advise(array, start, stop, _MADV_POPULATE_READ)


def give_back(array: NDArray[Any], start: int, stop: int) -> None:
    """Release rows. Reading them again takes them from the page cache or from disk."""
    _advise(array, start, stop, _MADV_DONTNEED)


def pieces(array: NDArray[Any], rows: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Go through an array in pieces of so many rows, and release each piece afterwards."""
    for start in range(0, len(array), rows):
        stop = min(start + rows, len(array))
        yield slice(start, stop), array[start:stop]
        give_back(array, start, stop)


def _advise(array: NDArray[Any], start: int, stop: int, advice: int | None) -> None:
    memory: Any = getattr(array, "_mmap", None)  # numpy's name for the mapping under a np.memmap
    if advice is None or not isinstance(array, np.memmap) or not hasattr(memory, "madvise"):
        return
    # The array may be only a part of the mapping: find the position of the rows in the mapping.
    mapping, row_bytes = np.frombuffer(memory, dtype=np.uint8).ctypes.data, array[:1].nbytes
    first, last = (array.ctypes.data + row * row_bytes for row in (start, stop))
    # Also release the pages that were mapped around the rows, because such edges add up. A
    # neighbouring row that is still needed comes back from the page cache.
    unit = max(_FAULT_AROUND if advice == _MADV_DONTNEED else 0, mmap.PAGESIZE)
    first = max(first // unit * unit - mapping, 0)
    last = min(-(-last // unit) * unit - mapping, len(memory))
    if last > first:
        with contextlib.suppress(OSError):
            memory.madvise(advice, first, last - first)
