"""What is particular to CSV files and to Parquet files."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.data.flatten import FieldSpec
from goalsets.data.importing import import_source
from goalsets.data.sources import Csv, Parquet, SourceError
from goalsets.testing import check_source
from tests.data.table_files import make_episode, write

# --- CSV ------------------------------------------------------------------------------------------


def test_numpy_writes_csv_too(tmp_path):
    rows = np.random.default_rng(0).normal(size=(9, 4))
    path = tmp_path / "log.csv"
    np.savetxt(path, rows, delimiter=";", header="x;y;action.0;action.1", comments="")
    source = Csv(path, delimiter=";")
    check_source(source)
    (episode,) = source.episodes()
    np.testing.assert_allclose(episode.observations, rows[:, :2].astype(np.float32))
    with pytest.raises(SourceError, match="has one column, .* Is the delimiter ';'"):
        Csv(path).fields()


def test_quotes_spaces_and_a_mark_of_the_encoding(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('\ufeff"x", y ,action\r\n"1",2, 3\r\n\r\n4,5,6\r\n', encoding="utf-8")
    (episode,) = Csv(path).episodes()
    assert episode.observations.tolist() == [[1, 2], [4, 5]]
    assert episode.actions.tolist() == [[3]]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is empty: expected a line with the columns' names"),
        ("1,2,3\n4,5,6\n", "the first line holds numbers, 1, 2, 3; expected the names"),
        ("x,x,action\n1,2,3\n", "two columns have the name 'x'"),
        ("x,y,action\n1,2,3\n1,2\n", "line 3: it has 2 cells; expected 3"),
        ("x,y,action\n1,2,3\n1,two,3\n", "line 3: column 'y' holds 'two'; expected a number"),
        ("x,y,action\n", "has no rows"),
        ("x,y,action\n1\n", "line 2: it has 1 cells; expected 3"),
        (b"x,y,action\n1,\xff,3\n", "cannot be read as CSV"),
    ],
)
def test_damage_is_named(tmp_path, text, match):
    path = tmp_path / "log.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SourceError, match=rf"log\.csv.*{match}"):
        list(Csv(path).episodes())


def test_the_delimiter_is_one_character(tmp_path):
    with pytest.raises(SourceError, match="the delimiter must be one character, got ''"):
        Csv(write(tmp_path / "log.csv", make_episode(0, 4)), delimiter="").fields()


# --- Parquet --------------------------------------------------------------------------------------


def test_columns_of_lists(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "observation.state": rng.normal(size=(7, 3)),
        "observation.open": rng.integers(0, 2, 7).astype(bool),
        "action": rng.normal(size=(7, 2)),
        "t": np.arange(7) / 10,
    }
    source = Parquet(write(tmp_path / "log.parquet", columns))
    check_source(source)
    assert source.fields() == (FieldSpec("state", 3), FieldSpec("open", 1))
    store = import_source(source, tmp_path / "s", hold_out=0).store
    assert store.rate == 10
    np.testing.assert_allclose(store.train.observations[:, :3], columns["observation.state"], 1e-6)


def test_damaged_parquet_is_named(tmp_path):
    path = write(tmp_path / "log.parquet", make_episode(0, 6))
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(SourceError, match="is not a Parquet file, or only a part of one"):
        Parquet(path).fields()
