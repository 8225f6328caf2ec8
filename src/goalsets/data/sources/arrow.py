"""Parquet files as arrays, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from goalsets.core.door import check_regular
from goalsets.core.door.archive import FREE_BYTES, MOST_SHRUNK
from goalsets.core.errors import suggest
from goalsets.data.sources.base import SourceError, require
from goalsets.data.sources.parquet_footer import count_values

# A pyarrow array: pyarrow is an extra, so its types cannot be named here.
Column = Any


# pyarrow raises one of these for damage.
DAMAGE = (OSError, ValueError, LookupError, TypeError, NotImplementedError, MemoryError)


def open_parquet(path: Path) -> Any:  # noqa: ANN401 - of pyarrow
    """Open a Parquet file, to be used in a `with` statement.

    A file that says of how many numbers its few bytes are is refused before one of them is read: a
    number that repeats takes almost no bytes.
    """
    size = check_regular(path, kind=SourceError)
    library: Any = require("pyarrow.parquet", "parquet")
    numbers = count_values(path)
    if 4 * numbers > max(FREE_BYTES, MOST_SHRUNK * size):
        raise SourceError(
            f"{path} is refused: {size:,} bytes would become {numbers:,} numbers; measured data "
            "does not compress so far."
        )
    return library.ParquetFile(path)


def read_batches(
    path: Path, widths: Mapping[str, int], rows: int, *, gaps: bool = False
) -> Iterator[dict[str, NDArray[Any]]]:
    """Read some columns of a file.

    Args:
        path: The file.
        widths: The columns, and how many numbers each has in a row.
        rows: How many rows a batch has at most.
        gaps: Whether numbers may be missing; missing numbers become NaN.
    """
    try:
        with open_parquet(path) as file:
            for name in widths:
                if name not in file.schema_arrow.names:
                    raise SourceError(
                        f"{path} has no column {name!r}: {suggest(name, file.schema_arrow.names)}"
                    )
            for batch in file.iter_batches(batch_size=rows, columns=list(widths)):
                yield {
                    name: to_numpy(batch.column(name), width, f"{path}: {name!r}", gaps=gaps)
                    for name, width in widths.items()
                }
    except SourceError:
        raise
    except DAMAGE as error:
        raise SourceError(f"{path} is damaged: {error}") from None


def to_numpy(column: Column, width: int, where: str, *, gaps: bool = False) -> NDArray[Any]:
    """A column of lists as `[rows, width]`, a column of numbers as `[rows]`."""
    lists = hasattr(column, "flatten")
    if column.null_count and (lists or not gaps):
        raise SourceError(f"{where} has no value in {column.null_count} rows.")
    if not lists:
        return column.to_numpy(zero_copy_only=False)
    lengths = require("pyarrow.compute", "parquet").list_value_length(column).to_numpy()
    if (lengths != width).any():
        wrong = lengths[lengths != width][0]
        raise SourceError(f"{where} has a row of {wrong} numbers; expected {width}.")
    return column.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
