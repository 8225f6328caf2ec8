"""HDF5 files: regular files only, nothing from other files, and sizes before memory is taken."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core.door.archive import FREE_BYTES, MOST_SHRUNK
from goalsets.core.door.files import check_regular
from goalsets.core.errors import FileError, GoalsetsError

# An h5py file, group or data set: h5py is an extra, so its types cannot be named here.
Node = Any

# h5py says the same of damage in many ways.
_DAMAGE = (OSError, LookupError, RuntimeError, ValueError, TypeError, AttributeError,
           UnicodeError, OverflowError, MemoryError, NotImplementedError)  # fmt: skip


@contextmanager
def open_hdf5(path: Path, kind: type[GoalsetsError] = FileError) -> Generator[Node]:
    """Open a file; h5py's errors, from here or from reading, name the file."""
    h5py = importlib.import_module("h5py")
    check_regular(path, kind=kind)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except GoalsetsError:
        raise
    except _DAMAGE as error:
        raise kind(
            f"{path} is no HDF5 file, or is damaged: {' '.join(str(error).split())}."
        ) from None


def as_dataset(node: Node, place: str, kind: type[GoalsetsError] = FileError) -> Node:
    """A node that is an array of numbers, in this file, and no larger than its bytes explain."""
    if not hasattr(node, "dtype") or not hasattr(node, "shape"):
        raise kind(f"{place}: expected an array, got a group.")
    if node.shape is None:
        raise kind(f"{place}: expected an array, got nothing.")
    if node.is_virtual or node.external:
        raise kind(f"{place} is kept in another file; only what is in this one is read.")
    size, stored = int(node.nbytes), int(node.id.get_storage_size())
    if size > max(FREE_BYTES, MOST_SHRUNK * stored):
        raise kind(
            f"{place} is refused: {stored:,} bytes would become {size:,}, which no measured "
            "data does."
        )
    return node


def as_group(node: Node, place: str, kind: type[GoalsetsError] = FileError) -> Node:
    """A node that is a group."""
    if not hasattr(node, "visititems"):
        raise kind(f"{place}: expected a group, got an array.")
    return node


def read_dataset(node: Node, place: str, kind: type[GoalsetsError] = FileError) -> NDArray[Any]:
    """The numbers of a data set."""
    return np.asarray(as_dataset(node, place, kind)[()])
