"""The store: a data set on disk, written once, read in memory or memory-mapped.

A store is a directory:

    store.json         the index: layout, splits, rate, the bounds of actions, and for each array
                       its dtype, shape and digest
    data-<id>/         observations.npy, actions.npy, offsets.npy, extra.<name>.npy
    derived-<...>      files that were computed from the arrays; they may be removed at any time

`store.json` names the directory that holds the arrays. It is replaced in one step, so a conversion
that is killed leaves the old store, or no store. The arrays are plain `.npy` files.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, StateLayout, door, layout_from_dict
from goalsets.core.door.fit import Count, Size
from goalsets.data.bounds import Bounds
from goalsets.data.pages import pieces
from goalsets.data.trajectories import Trajectories

FORMAT = "goalsets-store"
VERSION = 1
INDEX = "store.json"
EXTRA = "extra."
DERIVED = "derived-"
"""The prefix of files that can be computed from the arrays again."""
_FORMS = {"observations": ("float32", 2), "actions": ("float32", 2), "offsets": ("int64", 1)}
"""For each array that every store has, its dtype and how many axes it has."""
REQUIRED = tuple(_FORMS)

Split = Literal["train", "validation"]


class StoreError(GoalsetsError):
    """A store cannot be read or written; the message names the file."""


@dataclass(frozen=True)
class ArrayRecord:
    """What `store.json` says of one array."""

    dtype: str
    shape: tuple[Count, ...]
    digest: str
    """BLAKE2b of the array's bytes."""

    @property
    def nbytes(self) -> int:
        """The size of the array's data."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Store:
    """A data set: trajectories in two splits, their layout, and where they came from."""

    path: Path
    layout: StateLayout | None
    source: str
    """What the data was made from, for people."""
    trajectories: Trajectories
    """All episodes: those of training, then those of validation."""
    num_train: int
    """How many of the episodes are for training."""
    notices: tuple[str, ...]
    """What the import left out or changed, for people."""
    records: Mapping[str, ArrayRecord]
    rate: float | None = None
    """Steps a second, if known."""
    kept_bounds: Bounds | None = None
    """The bounds of actions from the index; stores of older versions have none."""

    @classmethod
    def open(cls, path: str | Path, *, mapped: bool = False) -> Store:
        """Open a store.

        Args:
            path: The store's directory.
            mapped: Map the arrays into memory instead of reading them. Reading checks the digest
                of every array. Mapping checks only shapes and sizes; `verify` checks the digests.
        """
        path = Path(path)
        index = _read_index(path)
        data = path / index.data
        arrays = {n: _open_array(data / f"{n}.npy", r, mapped) for n, r in index.arrays.items()}
        trajectories = _assemble(arrays, data)
        splits = index.splits
        if splits.train + splits.validation != trajectories.num_episodes:
            raise StoreError(
                f"{path / INDEX} is damaged: it counts {splits.train} + {splits.validation} "
                f"episodes, and the arrays have {trajectories.num_episodes}."
            )
        return cls(
            path=path,
            layout=_read_layout(index.layout, trajectories, path / INDEX),
            source=index.source,
            trajectories=trajectories,
            num_train=splits.train,
            notices=index.notices,
            records=index.arrays,
            rate=index.rate,
            kept_bounds=_read_bounds(index.actions, trajectories, path / INDEX),
        )

    @functools.cached_property
    def bounds(self) -> Bounds:
        """The bounds of actions: from the index, or from the training episodes."""
        return self.kept_bounds or Bounds.seen_in(self.train)

    @functools.cached_property
    def train(self) -> Trajectories:
        """The episodes to train on."""
        return self.trajectories.slice(0, self.num_train)

    @functools.cached_property
    def validation(self) -> Trajectories:
        """The episodes held out; may be none."""
        return self.trajectories.slice(self.num_train, self.trajectories.num_episodes)

    def split(self, name: Split) -> Trajectories:
        """Return the episodes of a split."""
        return self.train if name == "train" else self.validation

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of the content: equal for equal data in any directory."""
        return fingerprint(self.records, self.num_train)

    def verify(self) -> None:
        """Read every array and compare its digest; raise an error that names the first bad file."""
        arrays = {
            "observations": self.trajectories.observations,
            "actions": self.trajectories.actions,
            "offsets": self.trajectories.offsets,
            **{EXTRA + name: values for name, values in self.trajectories.extras.items()},
        }
        data = self.path / _read_index(self.path).data
        for name, array in arrays.items():
            check_digest(array, self.records[name], data / f"{name}.npy")


def fingerprint(records: Mapping[str, ArrayRecord], num_train: int) -> str:
    """A digest of the arrays' names, types, shapes and digests, and of the split."""
    plain = [[n, r.dtype, list(r.shape), r.digest] for n, r in sorted(records.items())]
    text = json.dumps([plain, num_train])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def digest(array: NDArray[Any]) -> str:
    """BLAKE2b of an array's bytes, read in pieces so that a mapped array stays on disk."""
    state = hashlib.blake2b(digest_size=16)
    rows = max(1, (16 << 20) // max(1, array[:1].nbytes))
    for _, part in pieces(array, rows):
        state.update(np.ascontiguousarray(part).data)
    return state.hexdigest()


def check_digest(array: NDArray[Any], record: ArrayRecord, path: Path) -> None:
    """Raise an error if an array's content is not what was written."""
    if digest(array) != record.digest:
        raise StoreError(
            f"{path} is corrupt: its content is not what was written. Import it again."
        )


@dataclass(frozen=True)
class _Splits:
    train: Size
    validation: Count


@dataclass(frozen=True)
class _Index:
    """What `store.json` says."""

    data: str
    source: str
    notices: tuple[str, ...]
    splits: _Splits
    layout: dict[str, Any] | None
    arrays: dict[str, ArrayRecord]
    rate: float | None = None  # missing in stores of older versions
    actions: dict[str, Any] | None = None  # missing in stores of older versions

    def __post_init__(self) -> None:
        for name in REQUIRED:
            if name not in self.arrays:
                raise StoreError(f"it has no {name}.")
        for name in (self.data, *self.arrays):
            if Path(name).name != name:
                raise StoreError(f"expected the name of a file beside it, got {name!r}.")
        if self.rate is not None and not 0 < self.rate < math.inf:
            raise StoreError(f"'rate': expected steps a second above 0, got {self.rate}.")


def _read_index(path: Path) -> _Index:
    file = path / INDEX
    if not file.exists():
        raise StoreError(
            f"{path} is not a store: it has no {INDEX}. 'goalsets data import' writes a store."
        )
    index = door.read_json(file, kind=StoreError)
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise StoreError(f"{file} is not the index of a store.")
    if index.get("version") != VERSION:
        raise StoreError(
            f"{path} is a store of version {index.get('version')}; this goalsets reads version "
            f"{VERSION}. Import the data again."
        )
    return door.fit(index, _Index, f"{file} is damaged", kind=StoreError)


def _read_bounds(
    plain: Mapping[str, Any] | None, trajectories: Trajectories, place: Path
) -> Bounds | None:
    """Read the bounds of actions and check that they fit the actions."""
    if plain is None:
        return None
    try:
        bounds = Bounds.from_dict(plain)
    except (KeyError, TypeError, ValueError) as error:
        told = str(error).rstrip(".")
        raise StoreError(f"{place} is damaged: 'actions': {told}.") from None
    if len(bounds.low) != trajectories.actions.shape[1]:
        raise StoreError(
            f"{place} is damaged: it bounds actions of {len(bounds.low)} components, the arrays "
            f"have {trajectories.actions.shape[1]}."
        )
    return bounds


def _read_layout(
    plain: Mapping[str, Any] | None, trajectories: Trajectories, place: Path
) -> StateLayout | None:
    if plain is None:
        return None
    try:
        layout = layout_from_dict(plain)
    except GoalsetsError as error:
        raise StoreError(f"{place}: its layout cannot be read: {error}") from None
    if layout.dim != trajectories.observations.shape[1]:
        raise StoreError(
            f"{place}: its layout has {layout.dim} coordinates, and its states have "
            f"{trajectories.observations.shape[1]}."
        )
    return layout


def _open_array(path: Path, record: ArrayRecord, mapped: bool) -> NDArray[Any]:
    """Open one array and check that it is what the index says."""
    if not path.exists():
        raise StoreError(f"{path} is missing. Import the data again.")
    array = door.read_array(path, mapped=mapped, kind=StoreError)
    if (str(array.dtype), array.shape) != (record.dtype, record.shape):
        raise StoreError(
            f"{path} does not fit the store: expected {record.dtype}{list(record.shape)}, "
            f"got {array.dtype}{list(array.shape)}."
        )
    if not mapped:
        check_digest(array, record, path)
    return array


def _assemble(arrays: Mapping[str, NDArray[Any]], data: Path) -> Trajectories:
    """Combine the arrays and check that they fit each other."""
    for name, (dtype, axes) in _FORMS.items():
        found = arrays[name]
        if found.dtype != dtype or found.ndim != axes:
            raise StoreError(
                f"{data / name}.npy: expected {dtype} with {axes} axes, got "
                f"{found.dtype}{list(found.shape)}."
            )
    offsets = np.array(arrays["offsets"])  # small and often used, so it is copied into memory
    if 0 in (len(offsets), arrays["observations"].shape[1], arrays["actions"].shape[1]):
        raise StoreError(f"{data} is damaged: it has no episodes, no states or no actions.")
    rows = len(arrays["observations"])
    for name, array in arrays.items():
        if name != "offsets" and array.shape[:1] != (rows,):
            raise StoreError(
                f"{data / name}.npy has {len(array) if array.ndim else 'no'} rows, but "
                f"observations.npy has {rows}."
            )
    if offsets[0] != 0 or offsets[-1] != rows or (np.diff(offsets) < 1).any():
        raise StoreError(
            f"{data / 'offsets.npy'} is damaged: expected numbers that increase from 0 to {rows}."
        )
    extras = {n.removeprefix(EXTRA): a for n, a in arrays.items() if n.startswith(EXTRA)}
    return Trajectories(arrays["observations"], arrays["actions"], offsets, extras)
