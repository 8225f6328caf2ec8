"""The `npz` source: arrays in one NumPy archive.

The number of axes decides between two forms:

* rows, `[N, D]`: one row a step, episodes one after another, with a mark in their last rows, as in
  the archives of OGBench and D4RL;
* stacked, `[E, T, D]`: one entry for each episode, with `lengths` if episodes are padded.

The arrays of a split are in memory while it is read; episodes are views into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode
from goalsets.core.door import Archive
from goalsets.data.flatten import FieldSpec
from goalsets.data.sources.base import (
    SOURCES,
    Notices,
    SourceError,
    Split,
    as_matrix,
    check_split,
    make_episode,
)
from goalsets.data.sources.rows import RowLog, name_fields


@SOURCES.register("npz")
@dataclass(frozen=True)
class Npz:
    """Episodes in a NumPy archive, in rows or stacked."""

    path: Path
    """The archive."""
    validation: Path | None = None
    """An archive with validation episodes; by default `<name>-val.npz` beside the first, if any."""
    observations: tuple[str, ...] = ("observations",)
    """Keys of the observations, in the order of the flat vector."""
    actions: str = "actions"
    """Key of the actions."""
    ends: tuple[str, ...] = ("terminals", "timeouts")
    """Keys that mark the last row of an episode; any of them is enough."""
    lengths: str = "lengths"
    """Stacked archives: key of the number of actions in each episode, if episodes are padded."""
    extras: tuple[str, ...] = ()
    """Keys of further values to keep for each observation, such as `qpos`."""
    use_next: bool = True
    """Take the state after the last action from `next_<key>`, if the archive has it."""
    filler: bool = False
    """Whether the last action of an episode only fills its row, as in OGBench."""
    rate: float | None = None
    """Steps a second; the archive does not contain it."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Accept paths as text too."""
        object.__setattr__(self, "path", Path(self.path))
        if self.validation is not None:
            object.__setattr__(self, "validation", Path(self.validation))

    @property
    def has_validation(self) -> bool:
        """Whether there is an archive with validation episodes."""
        return self._validation_path() is not None

    def fields(self) -> tuple[FieldSpec, ...]:
        """One field for each observation key; a single vector has no name."""
        with Archive(self.path, SourceError) as archive:
            return name_fields(self._widths(archive))

    def describe(self) -> str:
        """Say what is being read."""
        validation = self._validation_path()
        return f"NumPy archive {self.path}" + (f" and {validation}" if validation else "")

    def episodes(self, split: Split = "train") -> Iterator[Episode]:
        """Read the episodes of a split, one at a time."""
        check_split(split, self.has_validation, self.path)
        path = self.path if split == "train" else self._validation_path()
        with Archive(path or self.path, SourceError) as archive:
            self._check_widths(archive)
            if self._is_stacked(archive):
                reader = self._stacked(archive)
            else:
                reader = self._row_log(archive).episodes(self.notices)
        yield from reader

    def _validation_path(self) -> Path | None:
        if self.validation is not None:
            return self.validation
        beside = self.path.with_name(f"{self.path.stem}-val{self.path.suffix}")
        return beside if beside.is_file() else None

    def _is_stacked(self, archive: Archive) -> bool:
        return any(len(archive.shape(key)) == 3 for key in self.observations)

    def _widths(self, archive: Archive) -> dict[str, int]:
        """For each observation key its number of coordinates; scalars may lack the last axis."""
        axes = 2 if self._is_stacked(archive) else 1
        widths: dict[str, int] = {}
        for key in self.observations:
            shape = archive.shape(key)
            if len(shape) not in (axes, axes + 1):
                raise SourceError(
                    f"{archive.path}: {key!r} has shape {list(shape)}: expected vectors, as "
                    "[rows, coordinates] or [episodes, steps, coordinates]; images cannot be part "
                    "of a state."
                )
            widths[key] = shape[axes] if len(shape) > axes else 1
        return widths

    def _check_widths(self, archive: Archive) -> None:
        """Check that validation episodes have the dimensions of the training episodes."""
        with Archive(self.path, SourceError) as first:
            expected = self._widths(first)
        for key, width in self._widths(archive).items():
            if width != expected[key]:
                raise SourceError(
                    f"{archive.path}: {key!r} has {width} coordinates; expected {expected[key]}, "
                    f"as in {self.path}."
                )

    def _row_log(self, archive: Archive) -> RowLog:
        ends = [key for key in self.ends if key in archive.keys]
        if not ends:
            raise SourceError(
                f"{archive.path}: nothing marks the ends of episodes: expected one of "
                f"{', '.join(map(repr, self.ends))}; the archive has "
                f"{', '.join(map(repr, archive.keys))}."
            )
        following = {key: f"next_{key}" for key in self.observations}
        if not self.use_next or not set(following.values()) <= set(archive.keys):
            following = {}
        used = (*self.observations, self.actions, *self.ends, *self.extras, *following.values())
        self._note_unread(archive, used)
        # All shapes are compared before the first array is read.
        rows = archive.shape(self.observations[0])[0]
        for key in used:
            if key in archive.keys and archive.shape(key)[:1] != (rows,):
                raise SourceError(
                    f"{archive.path}: {key!r} has {archive.shape(key)[0]} rows; expected {rows}, "
                    f"as {self.observations[0]!r} has."
                )
        return RowLog(
            file=str(archive.path),
            observations={key: archive.read(key) for key in self.observations},
            actions={self.actions: archive.read(self.actions)},
            ends={key: archive.read(key) for key in ends},
            next_observations={key: archive.read(name) for key, name in following.items()},
            extras={key: archive.read(key) for key in self.extras},
            filler=self.filler,
        )

    def _note_unread(self, archive: Archive, used: tuple[str, ...]) -> None:
        unread = [key for key in archive.keys if key not in used]
        if unread:
            self.notices.add(f"not read: {', '.join(unread)} (to keep values, name 'extras')")

    def _stacked(self, archive: Archive) -> Iterator[Episode]:
        keys = (*self.observations, self.actions, *self.extras)
        padded = (self.lengths,) if self.lengths in archive.keys else ()
        self._note_unread(archive, (*keys, *padded))
        states = archive.shape(self.observations[0])[:2]
        for key in (*keys, *padded):
            found, expected = archive.shape(key)[:2], [states]
            if key == self.actions:
                expected = [(states[0], states[1] - 1), states]
            elif key == self.lengths:
                expected = [states[:1]]
            if found not in expected:
                raise SourceError(
                    f"{archive.path}: {key!r} has {_print(found)}; expected "
                    f"{' or '.join(map(_print, expected))}, as {self.observations[0]!r} has "
                    f"{_print(states)}."
                )
        if states[0] == 0:
            raise SourceError(f"{archive.path}: {self.observations[0]!r} has no episodes.")
        arrays = {key: archive.read(key) for key in keys}
        lengths = [archive.read(key) for key in padded]
        return self._cut_stack(str(archive.path), arrays, *lengths)

    def _cut_stack(
        self, file: str, arrays: Mapping[str, NDArray[Any]], lengths: NDArray[Any] | None = None
    ) -> Iterator[Episode]:
        steps = arrays[self.actions].shape[1]
        for number in range(len(arrays[self.actions])):
            where = f"{file}, episode {number}"
            length = steps if lengths is None else int(lengths[number])
            if not 0 <= length <= steps:
                raise SourceError(
                    f"{where}: {self.lengths!r} must be from 0 to {steps}, got {length}."
                )
            # Observations have as many steps as actions, or one more: padding is at the end.
            parts = {
                k: array[number][: length + array.shape[1] - steps] for k, array in arrays.items()
            }
            observations = [as_matrix(parts[key], f"{where}, {key!r}") for key in self.observations]
            episode = make_episode(
                where,
                observations[0] if len(observations) == 1 else np.concatenate(observations, axis=1),
                as_matrix(parts[self.actions], f"{where}, {self.actions!r}"),
                {key: parts[key] for key in self.extras},
                self.notices,
                filler=self.filler,
            )
            if episode is not None:
                yield episode


def _print(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{n} {what}" for n, what in zip(shape, ("episodes", "steps"), strict=False))
