"""HDF5 files: regular files only, no links to other files, sizes checked before memory is taken."""

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

# h5py raises any of these for damage.
_DAMAGE = (OSError, LookupError, RuntimeError, ValueError, TypeError, AttributeError,
           UnicodeError, OverflowError, MemoryError, NotImplementedError)  # fmt: skip


@contextmanager
def open_hdf5(path: Path, kind: type[GoalsetsError] = FileError) -> Generator[Node]:
    """Open a file. Errors of h5py, at opening or at reading, are raised with the file's name."""
    h5py = importlib.import_module("h5py")
    check_regular(path, kind=kind)
    try:
        with h5py.File(path, "r") as file:
            yield file
    except GoalsetsError:
        raise
    except _DAMAGE as error:
        raise kind(
            f"{path} is not an HDF5 file, or is damaged: {' '.join(str(error).split())}."
        ) from None


def as_dataset(node: Node, place: str, kind: type[GoalsetsError] = FileError) -> Node:
    """Check that a node is an array of numbers in this file, of a size that its bytes explain."""
    if not hasattr(node, "dtype") or not hasattr(node, "shape"):
        raise kind(f"{place}: expected an array, got a group.")
    if node.shape is None:
        raise kind(f"{place}: expected an array, got nothing.")
    if node.is_virtual or node.external:
        raise kind(f"{place} is stored in another file; only data in this file is read.")
    check_growth(int(node.id.get_storage_size()), int(node.nbytes), place, kind)
    return node


def check_growth(stored: int, size: int, place: str, kind: type[GoalsetsError] = FileError) -> None:
    """Check that bytes that are read were stored: links may give one array many names."""
    if size > max(FREE_BYTES, MOST_SHRUNK * stored):
        raise kind(
            f"{place} is refused: {stored:,} bytes would become {size:,}; measured data does not "
            "compress so far."
        )


def as_group(node: Node, place: str, kind: type[GoalsetsError] = FileError) -> Node:
    """Check that a node is a group."""
    if not hasattr(node, "visititems"):
        raise kind(f"{place}: expected a group, got an array.")
    return node


def read_dataset(node: Node, place: str, kind: type[GoalsetsError] = FileError) -> NDArray[Any]:
    """The numbers of a data set."""
    return np.asarray(as_dataset(node, place, kind)[()])
