"""The count of numbers in a Parquet file, beside pyarrow's."""

import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from goalsets.core import GoalsetsError
from goalsets.data.sources.arrow import open_parquet, read_batches
from goalsets.data.sources.parquet_footer import MAGIC, count_values


def _table(rows: int) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "number": rng.normal(size=rows),
            "list": [list(row) for row in rng.normal(size=(rows, 3))],
            "gap": [None if i % 3 else i for i in range(rows)],
            "text": [f"t{i}" for i in range(rows)],
            "flag": [i % 2 == 0 for i in range(rows)],
            "record": [{"x": i, "y": [float(i)] * 2} for i in range(rows)],
        }
    )


@pytest.mark.parametrize("rows", [0, 1, 7, 1000])
@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_it_is_pyarrows_count(tmp_path: Path, rows: int, version: str) -> None:
    path = tmp_path / "file.parquet"
    schema = _table(1).schema.with_metadata({"note": "x" * 300})
    pq.write_table(
        _table(rows).cast(schema),
        path,
        row_group_size=100,
        version=version,
        write_page_index=True,
        sorting_columns=[pq.SortingColumn(0)],
    )
    about = pq.ParquetFile(path).metadata
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    wanted = sum(g.column(i).num_values for g in groups for i in range(g.num_columns))
    assert count_values(path) == wanted
    assert (wanted > 0) == (rows > 0)


@pytest.mark.parametrize(
    ("footer", "words"),
    [
        (b"\x49\x1c", "ends too soon"),
        (b"\x4f\x00", "unknown type 15"),
        (b"\x46" + b"\xff" * 11, "more than ten bytes"),
        (b"\x49" + b"\x19" * 200, "nested too deep"),
        (b"\x49\x1c\x19\x1c\x3c\x56\x01\x00\x00\x00\x00", "a column has -1 values"),
    ],
)
def test_a_damaged_footer(tmp_path: Path, footer: bytes, words: str) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(MAGIC + footer + struct.pack("<I", len(footer)) + MAGIC)
    with pytest.raises(ValueError, match=words):
        count_values(path)


def test_a_footer_larger_than_its_file(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    path.write_bytes(MAGIC + struct.pack("<I", 1 << 31) + MAGIC)
    with pytest.raises(ValueError, match="a footer of 2,147,483,648 bytes; the file has 12"):
        count_values(path)


def test_a_footer_that_ends_pyarrow_is_an_error(tmp_path: Path) -> None:
    """The levels of a column have a histogram in the footer. One of another length is refused."""
    path = tmp_path / "file.parquet"
    pq.write_table(_table(50).select(["list"]), path)
    whole = path.read_bytes()
    histogram = b"\x19\x46\x00\x00\x00\xac\x02"  # a list of four i64; the last counts 150 numbers
    assert whole.count(histogram) == 1
    shorter = b"\x19\x36\x00\x00\xac\x02"
    footer = int.from_bytes(whole[-8:-4], "little")
    length = struct.pack("<I", footer - 1)
    path.write_bytes(whole[:-8].replace(histogram, shorter) + length + MAGIC)
    assert count_values(path) == 150
    with pytest.raises(GoalsetsError, match="damaged"):
        list(read_batches(path, {"list": 3}, 10))
    with open_parquet(path):
        pass
