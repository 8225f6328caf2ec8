"""Flat logs, as of OGBench and D4RL: one row for each step, episodes one after another."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode
from goalsets.data.flatten import FieldSpec
from goalsets.data.sources.base import Notices, SourceError, as_matrix, make_episode

NO_END = "the last rows have no mark of an end: they were read as a separate episode"


class Table(Protocol):
    """An array, or something on disk that can be sliced like one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows first."""
        ...

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        """Return some of the rows."""
        ...


def name_fields(widths: Mapping[str, int]) -> tuple[FieldSpec, ...]:
    """One field for each key. A single vector gets no name, because its key says nothing."""
    if len(widths) == 1:
        return tuple(FieldSpec("", width) for width in widths.values())
    return tuple(FieldSpec(key, width) for key, width in widths.items())


def cut_runs(
    columns: Mapping[str, NDArray[Any]], key: str
) -> Iterator[tuple[Any, Mapping[str, NDArray[Any]]]]:
    """Divide rows where the value of a column changes; yield each run with its value."""
    labels = columns[key]
    cuts = [0, *(np.flatnonzero(labels[1:] != labels[:-1]) + 1), len(labels)]
    for start, stop in itertools.pairwise(cuts):
        if stop > start:
            yield labels[start], {name: array[start:stop] for name, array in columns.items()}


def join_pieces(pieces: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Join rows that were read in several pieces."""
    if len(pieces) == 1:
        return dict(pieces[0])
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


@dataclass(frozen=True)
class RowLog:
    """A flat log. Rows are sliced episode by episode, so they may stay on disk."""

    file: str
    """For messages."""
    observations: Mapping[str, Table]
    """By key, in the order of the flat vector; each `[N, n]`."""
    actions: Mapping[str, Table]
    """One key, `[N, A]`."""
    ends: Mapping[str, NDArray[Any]]
    """Each `[N]`, nonzero in the last row of an episode; any of them is enough."""
    next_observations: Mapping[str, Table]
    """By the key of the observation; empty if the log has none."""
    extras: Mapping[str, Table]
    """Further values per row, `[N, ...]`."""
    filler: bool = False
    """Whether the last action of each episode only fills its row."""

    def __post_init__(self) -> None:
        """Check that all tables have the same number of rows."""
        first, shape = next((key, table.shape) for key, table in self.observations.items())
        rows = shape[0] if shape else 0
        if rows == 0:
            raise SourceError(f"{self.file}: {first!r} has no rows.")
        tables = (self.actions, self.ends, self.next_observations, self.extras, self.observations)
        for key, table in (pair for mapping in tables for pair in mapping.items()):
            if table.shape[:1] != (rows,):
                found = table.shape[0] if table.shape else "no"
                raise SourceError(
                    f"{self.file}: {key!r} has {found} rows; expected {rows}, as {first!r} has."
                )

    def episodes(self, notices: Notices) -> Iterator[Episode]:
        """Divide the rows into episodes."""
        for number, (start, stop) in enumerate(self._spans(notices)):
            where = f"{self.file}, episode {number} (rows {start} to {stop - 1})"
            observations = self._join(self.observations, slice(start, stop))
            # The last next observation has no extras.
            if self.next_observations and not self.extras:
                observations = self._with_last_state(observations, start, stop)
            ((key, actions),) = self.actions.items()
            episode = make_episode(
                where,
                observations,
                as_matrix(actions[start:stop], f"{self.file}: {key!r}"),
                {name: table[start:stop] for name, table in self.extras.items()},
                notices,
                filler=self.filler,
            )
            if episode is not None:
                yield episode

    def _spans(self, notices: Notices) -> Iterator[tuple[int, int]]:
        marks = np.logical_or.reduce([_flags(self.file, *pair) for pair in self.ends.items()])
        stops = np.flatnonzero(marks) + 1
        if len(stops) == 0 or stops[-1] != len(marks):
            notices.add(NO_END)
            stops = np.append(stops, len(marks))
        start = 0
        for stop in stops:
            yield start, int(stop)
            start = int(stop)

    def _join(self, tables: Mapping[str, Table], rows: slice) -> NDArray[np.float32]:
        parts = [as_matrix(table[rows], f"{self.file}: {key!r}") for key, table in tables.items()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _with_last_state(
        self, observations: NDArray[np.float32], start: int, stop: int
    ) -> NDArray[np.float32]:
        """Append the state after the last action; check that each row follows the one before."""
        following = self._join(self.next_observations, slice(start, stop))
        if following.shape != observations.shape:
            raise SourceError(
                f"{self.file}: the next observations have {following.shape[1]} coordinates; "
                f"expected {observations.shape[1]}."
            )
        same = np.isclose(following[:-1], observations[1:], rtol=1e-4, atol=1e-5, equal_nan=True)
        if not same.all():
            row = start + int(np.flatnonzero(~same.all(axis=1))[0])
            raise SourceError(
                f"{self.file}: the observation of row {row + 1} is not the next observation of row "
                f"{row}, yet no episode ends there. Name the keys that mark the ends of episodes "
                f"(used: {', '.join(self.ends)})."
            )
        return np.concatenate([observations, following[-1:]])


def _flags(file: str, key: str, values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.size != len(values) or values.dtype.kind not in "biuf":
        raise SourceError(
            f"{file}: {key!r} marks the ends of episodes and needs one number a row, "
            f"got shape {values.shape} of {values.dtype}."
        )
    return values.reshape(-1) != 0
