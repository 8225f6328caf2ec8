"""The `csv` source: text files whose first line names the columns."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from goalsets.core.door import open_file
from goalsets.data.sources.base import SOURCES, SourceError
from goalsets.data.sources.tables import Columns, Tables

_ROWS = 50_000
"""Rows that are in memory as text at the same time."""


@SOURCES.register("csv")
@dataclass(frozen=True)
class Csv(Tables):
    """Episodes in CSV files: one file for each, or a column that numbers them."""

    delimiter: str = ","
    """The character between two columns."""

    kind: ClassVar[str] = "CSV"
    suffix: ClassVar[str] = ".csv"

    def _open(self, path: Path) -> CsvFile:
        return CsvFile(path, self.delimiter)


class CsvFile:
    """A CSV file whose first two lines have been read."""

    def __init__(self, path: Path, delimiter: str) -> None:
        """Read the names of the columns, and find out which of them hold numbers."""
        self.path = path
        self.delimiter = delimiter
        if len(delimiter) != 1:
            raise SourceError(f"the delimiter must be one character, got {delimiter!r}.")
        lines = self._lines()
        self.names = [name.strip() for _, cells in itertools.islice(lines, 1) for name in cells]
        self._check_names()
        _, first = next(lines, (0, []))
        self.widths: Mapping[str, int | None] = {
            # An empty cell counts as a number; the rows below show whether that is right.
            name: 1 if not cell.strip() or _is_number(cell) else None
            for name, cell in itertools.zip_longest(
                self.names, first[: len(self.names)], fillvalue=""
            )
        }

    def pieces(self, numbers: Iterable[str], others: Iterable[str]) -> Iterator[Columns]:
        """Read some columns, a number of rows at a time."""
        numbers = list(numbers)
        others = [name for name in others if name not in numbers]
        lines = itertools.islice(self._lines(), 1, None)
        while rows := list(itertools.islice(lines, _ROWS)):
            for line, cells in rows:
                if len(cells) != len(self.names):
                    raise SourceError(
                        f"{self.path}, line {line}: it has {len(cells)} cells; expected "
                        f"{len(self.names)}, one for each name in the first line."
                    )
            columns = zip(*(cells for _, cells in rows), strict=True)
            texts = dict(zip(self.names, columns, strict=True))
            where = [line for line, _ in rows]
            yield {
                **{name: self._numbers(name, texts[name], where) for name in numbers},
                **{name: self._labels(name, texts[name], where) for name in others},
            }

    def _labels(self, name: str, cells: Sequence[str], lines: Sequence[int]) -> NDArray[Any]:
        """The values of a column: numbers, such as times, if it holds numbers; otherwise text."""
        if self.widths[name] is None:
            return np.array([cell.strip() for cell in cells])
        values = self._numbers(name, cells, lines)
        whole = np.array_equal(values, np.round(values)) and np.abs(values).max(initial=0) < 2**53
        return values.astype(np.int64) if whole else values

    def _numbers(
        self, name: str, cells: Sequence[str], lines: Sequence[int]
    ) -> NDArray[np.float64]:
        try:
            return np.array(cells, dtype=np.float64)
        except ValueError:  # empty cells, or text
            pass
        for line, cell in zip(lines, cells, strict=True):
            if cell.strip() and not _is_number(cell):
                raise SourceError(
                    f"{self.path}, line {line}: column {name!r} holds {cell!r}; expected a number."
                )
        return np.array([cell.strip() or "nan" for cell in cells], dtype=np.float64)

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """The cells of each line that is not empty, with its number."""
        try:
            # Spreadsheets write a byte order mark at the beginning: utf-8-sig removes it.
            with io.TextIOWrapper(
                open_file(self.path, kind=SourceError), "utf-8-sig", newline=""
            ) as file:
                reader = csv.reader(file, delimiter=self.delimiter)
                for cells in reader:
                    if cells:
                        yield reader.line_num, cells
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise SourceError(f"{self.path} cannot be read as CSV: {error}.") from None

    def _check_names(self) -> None:
        if not self.names:
            raise SourceError(f"{self.path} is empty: expected a line with the columns' names.")
        if len(self.names) == 1 and (other := next((c for c in ";\t|" if c in self.names[0]), "")):
            raise SourceError(
                f"{self.path} has one column, {self.names[0]!r}. Is the delimiter {other!r}?"
            )
        if all(_is_number(name) for name in self.names):
            raise SourceError(
                f"{self.path}: the first line holds numbers, {', '.join(self.names[:3])}; expected "
                "the names of the columns."
            )
        twice = next((name for name, count in Counter(self.names).items() if count > 1), None)
        if twice is not None:
            raise SourceError(f"{self.path}: two columns have the name {twice!r}.")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
