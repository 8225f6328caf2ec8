"""The `parquet` source: Parquet files with columns of numbers or of lists of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from goalsets.core import GoalsetsError
from goalsets.data.sources.arrow import DAMAGE, open_parquet, read_batches
from goalsets.data.sources.base import SOURCES, SourceError, require
from goalsets.data.sources.tables import Columns, Tables

_ROWS = 8192


@SOURCES.register("parquet")
@dataclass(frozen=True)
class Parquet(Tables):
    """Episodes in Parquet files: one file for each, or a column that numbers them."""

    kind: ClassVar[str] = "Parquet"
    suffix: ClassVar[str] = ".parquet"

    def _open(self, path: Path) -> ParquetTable:
        return ParquetTable(path)


class ParquetTable:
    """A Parquet file whose schema and first row have been read."""

    def __init__(self, path: Path) -> None:
        """Read the names of the columns, and find out which of them hold numbers."""
        self.path = path
        try:
            with open_parquet(path) as file:
                schema = file.schema_arrow
                first = next(file.iter_batches(batch_size=1), None)
        except GoalsetsError:
            raise
        except DAMAGE as error:
            raise SourceError(
                f"{path} is not a Parquet file, or only a part of one: {error}"
            ) from None
        self.widths: Mapping[str, int | None] = {
            name: _width(schema.field(name).type, first, name) for name in schema.names
        }

    def pieces(self, numbers: Iterable[str], others: Iterable[str]) -> Iterator[Columns]:
        """Read some columns, a number of rows at a time."""
        widths = {name: self.widths[name] or 1 for name in (*numbers, *others)}
        return read_batches(self.path, widths, _ROWS, gaps=True)


def _width(kind: Any, first: Any, name: str) -> int | None:  # noqa: ANN401 - of pyarrow
    """How many numbers a row has; in a column of lists, as many as in the first row."""
    types = require("pyarrow.types", "parquet")
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        row = None if first is None or not _is_number(kind.value_type) else first[name][0].as_py()
        return len(row) if row else None
    return 1 if _is_number(kind) else None


def _is_number(kind: Any) -> bool:  # noqa: ANN401 - of pyarrow
    types = require("pyarrow.types", "parquet")
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
