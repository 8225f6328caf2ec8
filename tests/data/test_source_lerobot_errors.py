"""Data sets that are not what the lerobot source reads are named, with what is wrong in them."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from goalsets.data.sources import LeRobot, SourceError
from tests.data.lerobot_files import (
    FILES,
    INFO,
    WHOLE,
    make_columns,
    write,
)

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("v2.1", r"format v2.1; expected v3.0.*convert_dataset_v21_to_v30 --repo-id"),
        ("v2.0", "format v2.0; expected v3.0"),
        (None, "format None; expected v3.0"),
        ("v4.0", "format v4.0; this version of goalsets reads up to v3.0"),
    ],
)
def test_other_versions_say_what_to_do(tmp_path, version, message):
    root = write(tmp_path / "d", make_columns(), WHOLE, info=INFO | {"codebase_version": version})
    with pytest.raises(SourceError, match=message):
        LeRobot(str(root)).fields()


def test_directories_that_are_none_are_named(tmp_path):
    with pytest.raises(SourceError, match="there is no directory lerobot/pusht.* set 'download'"):
        LeRobot("lerobot/pusht").fields()
    with pytest.raises(SourceError, match="is not a LeRobot data set: there is no .*info.json"):
        LeRobot(str(tmp_path)).fields()
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text("{")
    with pytest.raises(SourceError, match="info.json is not JSON"):
        LeRobot(str(tmp_path)).fields()
    (tmp_path / "meta/info.json").write_text('{"codebase_version": "v3.0"}')
    with pytest.raises(SourceError, match="expected an entry 'features'"):
        LeRobot(str(tmp_path)).fields()


def drop_rows(columns, rows):
    return {key: np.delete(values, rows, axis=0) for key, values in columns.items()}


def test_frames_that_are_missing_are_noticed_before_anything_is_read(tmp_path):
    root = write(tmp_path / "a", drop_rows(make_columns(), [21]), WHOLE)
    with pytest.raises(SourceError, match="hold 21 frames; expected 22, the sum of the lengths"):
        next(LeRobot(str(root)).episodes())
    root = write(tmp_path / "b", make_columns(), FILES)
    (root / "data/chunk-001/file-000.parquet").unlink()
    with pytest.raises(
        SourceError, match=r"chunk-001/file-000.parquet is missing: episode 2 begins there"
    ):
        next(LeRobot(str(root)).episodes())
    root = write(tmp_path / "c", make_columns(), FILES)
    path = root / "data/chunk-001/file-000.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(
        SourceError, match=r"file-000.parquet is not a Parquet file, or only a part"
    ):
        next(LeRobot(str(root)).episodes())
    root = write(tmp_path / "d", make_columns(), WHOLE, info=INFO | {"total_episodes": 6})
    with pytest.raises(SourceError, match=r"lists 5 episodes; expected 6, as meta/info.json says"):
        next(LeRobot(str(root)).episodes())
    shutil.rmtree(root / "meta/episodes")
    with pytest.raises(SourceError, match="episodes lists no episodes"):
        next(LeRobot(str(root)).episodes())


def swap(columns, key, rows, values):
    changed = dict(columns)
    changed[key] = columns[key].copy()
    changed[key][rows] = values
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: swap(c, "episode_index", 4, 0),
            "episode 0: the data files hold 5 frames; expected 4",
        ),
        (
            lambda c: swap(c, "frame_index", 5, 9),
            "episode 1: 'frame_index' does not count from 0 to 5",
        ),
        (
            lambda c: swap(c, "episode_index", range(15, 22), 9),
            "hold frames of episode 9, which meta/episodes does not list",
        ),
        (lambda c: {k: v for k, v in c.items() if k != "action"}, "has no column 'action'"),
        (
            lambda c: c | {"action": np.ones((22, 3), np.float32)},
            "'action' has a row of 3 numbers; expected 2",
        ),
    ],
)
def test_frames_that_disagree_are_named(tmp_path, change, message):
    root = write(tmp_path / "d", change(make_columns()), FILES)
    with pytest.raises(SourceError, match=message):
        list(LeRobot(str(root)).episodes())


def test_frames_of_an_episode_lie_together(tmp_path):
    info = INFO | {"splits": {"train": "0:1"}}
    columns = swap(make_columns(), "episode_index", 21, 0)
    root = write(tmp_path / "d", columns, WHOLE, info=info)
    with pytest.raises(SourceError, match="episode 0: its frames are not next to each other"):
        list(LeRobot(str(root)).episodes())


def test_rows_without_a_value_and_ragged_rows_are_named(tmp_path):
    root = write(tmp_path / "d", make_columns(), WHOLE)
    path = root / "data/chunk-000/file-000.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("action")
    for rows, message in (
        ([[0.0, 1.0]] * 21 + [None], "'action' has no value in 1 rows"),
        (
            [[0.0, 1.0]] * 20 + [[1.0], [1.0, 2.0, 3.0]],
            "'action' has a row of 1 numbers; expected 2",
        ),
    ):
        column = pa.array(rows, pa.list_(pa.float32()))
        pq.write_table(table.set_column(place, "action", column), path)
        with pytest.raises(SourceError, match=message):
            list(LeRobot(str(root)).episodes())


def test_features_that_cannot_be_are_explained(tmp_path):
    root = str(write(tmp_path / "d", make_columns(), WHOLE))
    with pytest.raises(
        SourceError, match="unknown observation key 'observation.stat': did you mean"
    ):
        LeRobot(root, observations=("observation.stat",)).fields()
    with pytest.raises(
        SourceError, match="'observation.images.top' has shape None: expected a vector"
    ):
        LeRobot(root, observations=("observation.images.top",)).fields()
    with pytest.raises(SourceError, match="there is no feature 'actions': did you mean 'action'"):
        list(LeRobot(root, actions="actions").episodes())
