"""Writes a store episode by episode. It becomes visible in one step, when it is complete."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode, GoalsetsError, StateLayout, door, layout_to_dict
from goalsets.data.bounds import Limits, Seen
from goalsets.data.store import (
    DERIVED,
    EXTRA,
    FORMAT,
    INDEX,
    VERSION,
    ArrayRecord,
    Split,
    Store,
    StoreError,
    fingerprint,
)
from goalsets.lock import Lock

# The header fills one page, so that memory-mapped rows begin on the next page.
HEADER_BYTES = 4096
LOCK, TEMPORARY = ".lock", "store.tmp"


class StoreWriter:
    """A context manager that writes a store. If an error ends it, it removes what it wrote.

    Episodes for training come first, then those for validation. Each episode is written at once,
    so a data set may be larger than memory.

    Args:
        path: The store's directory; an existing store is replaced at the end, not before.
        layout: The layout of the states, if there is one.
        source: What the data was made from, for people.
        rate: Steps a second, if known.
        limits: What is known about the bounds of actions; the training episodes give the rest.
    """

    def __init__(
        self,
        path: str | Path,
        layout: StateLayout | None,
        source: str,
        rate: float | None = None,
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> None:
        """Check the arguments. No file is touched before the context is entered."""
        if rate is not None and not (0 < rate < math.inf):
            raise StoreError(f"the rate must be a number of steps a second above 0, got {rate}.")
        self.path = Path(path)
        self.layout = layout
        self.source = source
        self.rate = rate
        self.limits = limits
        self.counts: dict[Split, int] = {"train": 0, "validation": 0}
        self._columns: dict[str, _Column] = {}
        self._offsets = [0]
        self._lock = Lock(self.path / LOCK, f"write a store at {self.path}")
        self._seen = Seen()

    def __enter__(self) -> StoreWriter:
        """Lock the store and remove files that a killed writer may have left."""
        self._check_own()
        self._lock.__enter__()
        try:
            self._data = self.path / f"data-{uuid.uuid4().hex[:12]}"
            _remove_unused(self.path)
            with _explained(self._data):
                self._data.mkdir()
        except BaseException:
            self._lock.release()
            raise
        return self

    def _check_own(self) -> None:
        """Raise an error if the directory contains files that are not of a store."""
        if not self.path.is_dir():
            return
        unknown = [p.name for p in self.path.iterdir() if not _is_ours(p.name)]
        if unknown:
            raise StoreError(
                f"{self.path} is not a store and not empty (it has {sorted(unknown)[0]}): "
                "choose an empty or a new directory."
            )

    def add(self, episode: Episode, split: Split = "train") -> None:
        """Append an episode."""
        if not isinstance(episode, Episode):  # such as a dictionary, which `from_episodes` takes
            raise StoreError(
                f"expected an Episode, got a {type(episode).__name__}. "
                "goalsets.data.from_episodes(episodes, path) takes dictionaries, proposes a layout "
                "and writes a store to train on."
            )
        if split == "train" and self.counts["validation"]:
            raise StoreError(
                "got an episode for training after one for validation: add all episodes for "
                "training first."
            )
        padded = np.zeros((1, episode.actions.shape[1]), dtype=np.float32)
        values: dict[str, NDArray[Any]] = {
            "observations": episode.observations.astype(np.float32, copy=False),
            "actions": np.concatenate([episode.actions.astype(np.float32, copy=False), padded]),
            **{EXTRA + name: np.asarray(extra) for name, extra in episode.extras.items()},
        }
        number = sum(self.counts.values())
        self._check(values, number)
        for name, array in values.items():
            self._columns[name].append(array, number)
        if split == "train":
            self._seen.add(values["actions"][:-1])
        self._offsets.append(self._offsets[-1] + len(episode.observations))
        self.counts[split] += 1

    def _check(self, values: Mapping[str, NDArray[Any]], number: int) -> None:
        if number == 0:
            dim = values["observations"].shape[1]
            if self.layout is not None and self.layout.dim != dim:
                raise StoreError(
                    f"the layout {self.layout.name!r} has {self.layout.dim} coordinates, "
                    f"and the data has {dim}."
                )
            self.limits.check(values["actions"].shape[1])
            for name in values:
                self._columns[name] = _Column(self._data / f"{name}.npy")
        if values.keys() != self._columns.keys():
            difference = sorted(values.keys() ^ self._columns.keys())[0].removeprefix(EXTRA)
            raise StoreError(
                f"episode {number} and earlier episodes differ in {difference!r}: all must have "
                "it, or none."
            )

    def finish(self, notices: Iterable[str] = ()) -> Store:
        """Make the store visible, in one step, and open it memory-mapped.

        Args:
            notices: What was left out or changed, for people.
        """
        if self.counts["train"] == 0:
            raise StoreError(f"{self.source} has no episode to train on.")
        self._columns["offsets"] = _Column(self._data / "offsets.npy")
        self._columns["offsets"].append(np.array(self._offsets, dtype=np.int64), 0)
        records = {name: column.close() for name, column in self._columns.items()}
        index = {
            "format": FORMAT,
            "version": VERSION,
            "data": self._data.name,
            "source": self.source,
            "notices": list(notices),
            **({} if self.rate is None else {"rate": float(self.rate)}),
            "actions": self.limits.bounds(self._seen.bounds(), self._seen).to_dict(),
            "splits": dict(self.counts),
            "fingerprint": fingerprint(records, self.counts["train"]),
            "layout": None if self.layout is None else layout_to_dict(self.layout),
            "arrays": {
                name: {"dtype": r.dtype, "shape": list(r.shape), "digest": r.digest}
                for name, r in records.items()
            },
        }
        _replace_file(self.path / INDEX, json.dumps(index, indent=1))
        self._columns = {}
        return Store.open(self.path, mapped=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove files that the visible store does not use, and unlock."""
        for column in self._columns.values():
            column.abandon()
        _remove_unused(self.path)
        self._lock.release()  # this also removes the directory if it is empty


def write_store(
    path: str | Path,
    train: Iterable[Episode],
    validation: Iterable[Episode] = (),
    *,
    layout: StateLayout | None = None,
    source: str = "episodes in memory",
    rate: float | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
) -> Store:
    """Write episodes to a store and open it memory-mapped."""
    with StoreWriter(path, layout, source, rate, limits) as writer:
        for episode in train:
            writer.add(episode, "train")
        for episode in validation:
            writer.add(episode, "validation")
        return writer.finish()


class _Column:
    """A `.npy` file that grows. Its header is written at the end, when its length is known."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        self.dtype: np.dtype[Any] | None = None
        self.row_shape: tuple[int, ...] = ()
        self._digest = hashlib.blake2b(digest_size=16)
        with _explained(path):
            self._file: IO[bytes] = path.open("wb")
            self._file.write(b"\0" * HEADER_BYTES)

    def append(self, array: NDArray[Any], episode: int) -> None:
        if self.dtype is None:
            self.dtype, self.row_shape = array.dtype, array.shape[1:]
        if (array.dtype, array.shape[1:]) != (self.dtype, self.row_shape):
            raise StoreError(
                f"episode {episode}: {self.path.stem.removeprefix(EXTRA)!r} has rows of "
                f"{array.dtype}{list(array.shape[1:])}; expected "
                f"{self.dtype}{list(self.row_shape)}, as in earlier episodes."
            )
        data = np.ascontiguousarray(array).data
        self._digest.update(data)
        with _explained(self.path):
            self._file.write(data)
        self.rows += len(array)

    def close(self) -> ArrayRecord:
        assert self.dtype is not None
        shape = (self.rows, *self.row_shape)
        with _explained(self.path), self._file:
            self._file.seek(0)
            self._file.write(_header(self.dtype, shape))
            self._file.flush()
            os.fsync(self._file.fileno())
        return ArrayRecord(str(self.dtype), shape, self._digest.hexdigest())

    def abandon(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """A `.npy` header of version 1.0, padded to `HEADER_BYTES`."""
    description = repr(
        {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    )
    magic = np.lib.format.magic(1, 0)
    length = HEADER_BYTES - len(magic) - 2
    text = description.encode("latin1").ljust(length - 1) + b"\n"
    return magic + length.to_bytes(2, "little") + text


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}.") from error


def _replace_file(path: Path, text: str) -> None:
    temporary = path.with_name(TEMPORARY)
    with _explained(path):
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)


def _is_ours(name: str) -> bool:
    return name in (INDEX, LOCK, TEMPORARY) or name.startswith(("data-", DERIVED))


def _remove_unused(path: Path) -> None:
    """Remove data that the index does not name, and all derived and temporary files."""
    used = ""
    if (path / INDEX).exists():
        with contextlib.suppress(GoalsetsError):
            plain = door.read_json(path / INDEX)
            used = plain.get("data", "") if isinstance(plain, dict) else ""
    for directory in path.glob("data-*"):
        if directory.name != used:
            shutil.rmtree(directory, ignore_errors=True)
    for file in (*path.glob(f"{DERIVED}*"), path / TEMPORARY):
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
