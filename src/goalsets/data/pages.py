"""Which pages of a memory-mapped array are in memory.

A page of a mapped file becomes resident when it is read, and stays so until the kernel needs the
room: a process that has read 10 GB once counts as one of 10 GB. Here a process says itself what it
will read and what it is done with. An array that is not mapped is left alone.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Linux: read and map a whole range in one call, where page faults would take many. Python does not
# name it yet; a kernel that does not know it refuses, and the faults do the work.
_MADV_POPULATE_READ = 22
_MADV_WILLNEED = getattr(mmap, "MADV_WILLNEED", None)
_MADV_DONTNEED = getattr(mmap, "MADV_DONTNEED", None)
_FAULT_AROUND = 1 << 16
"""Linux maps this much around a page that is read, if it is in the page cache; it is aligned."""


def announce(array: NDArray[Any], start: int, stop: int) -> None:
    """Have rows read from disk in the background: they are wanted soon."""
    _advise(array, start, stop, _MADV_WILLNEED)


def bring_in(array: NDArray[Any], start: int, stop: int) -> None:
    """Read rows from disk now, in one go."""
    _advise(array, start, stop, _MADV_POPULATE_READ)


def give_back(array: NDArray[Any], start: int, stop: int) -> None:
    """Let go of rows; whoever reads them again gets them from the page cache or from disk."""
    _advise(array, start, stop, _MADV_DONTNEED)


def pieces(array: NDArray[Any], rows: int) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Go through an array so many rows at a time, and give back what was gone through."""
    for start in range(0, len(array), rows):
        stop = min(start + rows, len(array))
        yield slice(start, stop), array[start:stop]
        give_back(array, start, stop)


def _advise(array: NDArray[Any], start: int, stop: int, advice: int | None) -> None:
    memory: Any = getattr(array, "_mmap", None)  # numpy's name for the mapping under a np.memmap
    if advice is None or not isinstance(array, np.memmap) or not hasattr(memory, "madvise"):
        return
    # The array may be a part of what is mapped: measure where in it the rows are.
    mapping, row_bytes = np.frombuffer(memory, dtype=np.uint8).ctypes.data, array[:1].nbytes
    first, last = (array.ctypes.data + row * row_bytes for row in (start, stop))
    # What was mapped around the rows goes with them. A neighbour that is wanted is found again in
    # the page cache; but what stays at every edge adds up.
    unit = max(_FAULT_AROUND if advice == _MADV_DONTNEED else 0, mmap.PAGESIZE)
    first = max(first // unit * unit - mapping, 0)
    last = min(-(-last // unit) * unit - mapping, len(memory))
    if last > first:
        with contextlib.suppress(OSError):
            memory.madvise(advice, first, last - first)
