"""Tables with named columns and one row for each step: the common part of CSV and Parquet files.

A row holds a state and the action that was taken in it. A file is an episode, unless a column
numbers the episodes. If the last row of an episode has no action, its state is the one after the
last action. Otherwise that state was not logged, and the last action is dropped.
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode
from goalsets.data.flatten import FieldSpec
from goalsets.data.sources.base import (
    Notices,
    SourceError,
    Split,
    as_matrix,
    check_split,
    make_episode,
    natural,
)
from goalsets.data.sources.columns import Roles, Wanted, choose_roles
from goalsets.data.sources.rows import cut_runs, join_pieces
from goalsets.data.sources.times import check_steps, in_seconds, measured_rate

Columns = Mapping[str, NDArray[Any]]


class Table(Protocol):
    """A file whose column names have been read."""

    @property
    def widths(self) -> Mapping[str, int | None]:
        """For each column how many numbers a row holds; None if it does not hold numbers."""
        ...

    def pieces(self, numbers: Iterable[str], others: Iterable[str]) -> Iterator[Columns]:
        """Read some columns, a number of rows at a time; missing numbers are NaN."""
        ...


@dataclass(frozen=True)
class Tables(abc.ABC):
    """Episodes in tables with named columns."""

    paths: tuple[Path, ...]
    """Files, or directories of them."""
    observations: tuple[str, ...] = ()
    """Columns of the state, in order; `arm_*` takes all columns that begin with `arm_`. By default
    every column of numbers that has no other role. Neighbouring columns such as `eef.x`, `eef.y`,
    `eef.z` are one vector."""
    actions: tuple[str, ...] = ()
    """Columns of the actions, in order; by default `action`, `action.*`, `action_*` and
    `action[*`."""
    episode: str = ""
    """The column that numbers the episodes; by default `episode`, `episode_index` or a similar
    name. If there is no such column, each file is an episode."""
    time: str = ""
    """The column of times, which gives the rate; by default `timestamp`, `time` or a similar name.
    Times are in seconds, unless the name ends in `_ms`, `_us` or `_ns`."""
    extras: tuple[str, ...] = ()
    """Columns of further values to keep for each observation."""
    rate: float | None = None
    """Steps a second; by default from the column of times. With a rate, that column is ignored."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    kind: ClassVar[str]
    suffix: ClassVar[str]
    has_validation: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Accept a single path and text too."""
        paths = (self.paths,) if isinstance(self.paths, str | Path) else self.paths
        object.__setattr__(self, "paths", tuple(Path(path).expanduser() for path in paths))

    @abc.abstractmethod
    def _open(self, path: Path) -> Table:
        """Open a file and read the names of its columns."""

    @property
    def store_name(self) -> str:
        """The name of the file or directory; for several files, the name of their directory."""
        first = self._given()[0].absolute()
        return first.stem if len(self.paths) == 1 else first.parent.name

    def fields(self) -> tuple[FieldSpec, ...]:
        """One field for each column, or for neighbouring columns that are one vector."""
        path = self.files()[0]
        table = self._open(path)
        return self._roles(path, table).fields(table.widths)

    def describe(self) -> str:
        """Say what is being read."""
        files = self.files()
        if len(files) == 1:
            return f"{self.kind} file {files[0]}"
        places = (
            ", ".join(map(str, self.paths)) if len(self.paths) < 3 else f"{files[0]} and others"
        )
        return f"{len(files)} {self.kind} files in {places}"

    def known_rate(self) -> float | None:
        """The rows a second of the first episode, if there is a column of times."""
        for where, roles, columns in self._logged():
            times = _times(where, roles, columns)
            rate = None if times is None else measured_rate(times, where)
            if times is None or rate is not None:
                return rate
        return None

    def episodes(self, split: Split = "train") -> Iterator[Episode]:
        """Read all episodes, one at a time."""
        check_split(split, self.has_validation, self.describe())
        rate = self.known_rate() if self.rate is None else None
        for where, roles, columns in self._logged():
            if rate is not None and (times := _times(where, roles, columns)) is not None:
                check_steps(times, rate, where, roles.time or "", self.notices)
            episode = self._episode(where, roles, columns)
            if episode is not None:
                yield episode

    def files(self) -> list[Path]:
        """All files, with `log_2` before `log_10` in a directory."""
        found: list[Path] = []
        for path in self._given():
            if path.is_dir():
                inside = sorted(path.glob(f"*{self.suffix}"), key=lambda p: natural(p.name))
                if not inside:
                    raise SourceError(f"{path} has no files *{self.suffix}: {_inside(path)}.")
                found += inside
            elif path.is_file():
                found.append(path)
            else:
                raise SourceError(f"there is no file {path}.")
        return found

    def _given(self) -> tuple[Path, ...]:
        if not self.paths:
            raise SourceError(f"name one or more {self.kind} files, or a directory of them.")
        return self.paths

    def _roles(self, path: Path, table: Table) -> Roles:
        wanted = Wanted(self.observations, self.actions, self.extras, self.episode, self.time)
        try:
            roles = choose_roles(table.widths, wanted)
        except SourceError as error:
            raise SourceError(f"{path}: {error}") from None
        for name, reason in roles.left_out.items():
            self.notices.add(f"column {name!r} was left out: {reason}")
        return roles

    def _logged(self) -> Iterator[tuple[str, Roles, Columns]]:
        """Each episode's columns, with a place for messages."""
        files = self.files()
        first = self._open(files[0])
        roles = self._roles(files[0], first)
        expected = {name: first.widths[name] for name in roles.numbers}
        others = [name for name in (roles.episode, roles.time) if name is not None]
        for path in files:
            table = self._open(path)
            _check_columns(path, table.widths, expected, others, files[0])
            pieces = table.pieces(roles.numbers, others)
            for label, columns in _by_episode(pieces, roles.episode, path):
                yield f"{path}{label}", roles, columns

    def _episode(self, where: str, roles: Roles, columns: Columns) -> Episode | None:
        states = [name for vector in roles.observations for name in vector.columns]
        for name in states:
            _check_finite(where, name, columns[name])
        actions = _matrix(where, roles.actions, columns)
        # The last row may have a state without an action.
        if len(actions) > 0 and np.isnan(actions[-1]).all():
            actions = actions[:-1]
        for name in roles.actions:
            _check_finite(where, name, columns[name][: len(actions)])
        extras = {name: columns[name] for name in roles.extras}
        return make_episode(where, _matrix(where, states, columns), actions, extras, self.notices)


def _by_episode(
    pieces: Iterable[Columns], column: str | None, path: Path
) -> Iterator[tuple[str, Columns]]:
    """Join the rows of each episode."""
    if column is None:
        whole = list(pieces)
        if not whole:
            raise SourceError(f"{path} has no rows.")
        yield "", join_pieces(whole)
        return
    seen: set[Any] = set()
    runs = (run for piece in pieces for run in cut_runs(piece, column))
    for value, group in itertools.groupby(runs, key=lambda run: run[0]):
        label = f", {column} {value}"
        if value in seen:
            raise SourceError(
                f"{path}{label}: its rows are not next to each other. Sort the rows by episode."
            )
        seen.add(value)
        yield label, join_pieces([piece for _, piece in group])
    if not seen:
        raise SourceError(f"{path} has no rows.")


def _check_columns(
    path: Path,
    widths: Mapping[str, int | None],
    expected: Mapping[str, int | None],
    others: Iterable[str],
    first: Path,
) -> None:
    for name in (*expected, *others):
        if name not in widths:
            raise SourceError(
                f"{path} has no column {name!r}, which {first} has. Its columns are "
                f"{', '.join(map(repr, widths))}."
            )
    for name, width in expected.items():
        if widths[name] != width:
            raise SourceError(
                f"{path}: column {name!r} has {widths[name] or 'no'} numbers in a row; expected "
                f"{width}, as in {first}."
            )


def _check_finite(where: str, name: str, values: NDArray[Any]) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        wrong = ~np.isfinite(values.reshape(len(values), -1)).all(axis=1)
        raise SourceError(
            f"{where}: column {name!r} has no finite number in row "
            f"{int(np.flatnonzero(wrong)[0])} of the episode, counted from 0 ({int(wrong.sum())} "
            "such rows)."
        )


def _matrix(where: str, names: Iterable[str], columns: Columns) -> NDArray[np.float32]:
    return np.concatenate([as_matrix(columns[n], f"{where}, {n!r}") for n in names], axis=1)


def _times(where: str, roles: Roles, columns: Columns) -> NDArray[np.float64] | None:
    if roles.time is None:
        return None
    return in_seconds(columns[roles.time], roles.seconds, f"{where}, {roles.time!r}")


def _inside(path: Path) -> str:
    if (path / "meta" / "info.json").exists():
        return "it is a LeRobot data set, which 'goalsets data import lerobot' reads"
    suffixes = sorted({p.suffix for p in path.iterdir() if p.is_file() and p.suffix})
    return f"its files end in {', '.join(suffixes)}" if suffixes else "it holds no files"
