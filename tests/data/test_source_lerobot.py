"""The lerobot source reads the published v3.0 layout, files and chunks as LeRobot cuts them."""

from __future__ import annotations

import itertools
import json
import shutil
import sys

import numpy as np
import pytest

from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import LeRobot, SourceError
from goalsets.data.sources.lerobot_meta import coordinate_names

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LENGTHS = (4, 6, 3, 2, 7)
MOTORS = ["shoulder_pan.pos", "elbow_flex.pos", "gripper.pos"]
FEATURES = {
    "action": {"dtype": "float32", "shape": [2], "names": {"motors": ["a", "b"]}},
    "observation.state": {"dtype": "float32", "shape": [3], "names": MOTORS},
    "observation.environment_state": {"dtype": "float64", "shape": [2], "names": None},
    "observation.phase": {"dtype": "int64", "shape": [1], "names": None},
    "observation.images.top": {"dtype": "video", "shape": [8, 8, 3], "names": ["h", "w", "c"]},
    "next.reward": {"dtype": "float32", "shape": [1], "names": None},
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    "frame_index": {"dtype": "int64", "shape": [1], "names": None},
    "episode_index": {"dtype": "int64", "shape": [1], "names": None},
    "index": {"dtype": "int64", "shape": [1], "names": None},
    "task_index": {"dtype": "int64", "shape": [1], "names": None},
}
INFO = {
    "codebase_version": "v3.0",
    "robot_type": "so101_follower",
    "total_episodes": len(LENGTHS),
    "total_frames": sum(LENGTHS),
    "total_tasks": 1,
    "chunks_size": 2,
    "data_files_size_in_mb": 100,
    "video_files_size_in_mb": 500,
    "fps": 10,
    "splits": {"train": "0:5"},
    "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
    "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    "features": FEATURES,
}


def make_columns():
    """All frames of all episodes; a shape of [1] is stored as a plain number."""
    rng = np.random.default_rng(0)
    frames = np.concatenate([np.arange(n) for n in LENGTHS])
    total = len(frames)
    return {
        "observation.state": rng.normal(size=(total, 3)).astype(np.float32),
        "observation.environment_state": rng.normal(size=(total, 2)),
        "observation.phase": frames % 2,
        "action": rng.normal(size=(total, 2)).astype(np.float32),
        "next.reward": rng.normal(size=total).astype(np.float32),
        "timestamp": (frames / 10).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.repeat(np.arange(len(LENGTHS)), LENGTHS),
        "index": np.arange(total),
        "task_index": np.zeros(total, np.int64),
    }


def to_arrow(values, fixed):
    if values.ndim == 1:
        return pa.array(values)
    flat = pa.array(values.reshape(-1))
    if fixed:
        return pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    return pa.ListArray.from_arrays(
        np.arange(0, values.size + 1, values.shape[1], dtype=np.int32), flat
    )


def write(root, columns, cuts, fixed=True, info=INFO):
    """Write a data set whose files hold the frames between the cuts, two files to a chunk."""
    (root / "meta/episodes/chunk-000").mkdir(parents=True)
    (root / "meta/info.json").write_text(json.dumps(info))
    starts = np.concatenate([[0], np.cumsum(LENGTHS)])
    places = []
    for number, (start, stop) in enumerate(itertools.pairwise(cuts)):
        chunk, file = divmod(number, 2)
        path = root / INFO["data_path"].format(chunk_index=chunk, file_index=file)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pa.table({k: to_arrow(v[start:stop], fixed) for k, v in columns.items()})
        pq.write_table(table, path, row_group_size=5)
        places += [(chunk, file) for begin in starts[:-1] if start <= begin < stop]
    rows = [
        {
            "episode_index": i,
            "tasks": ["put it there"],
            "length": LENGTHS[i],
            "data/chunk_index": places[i][0],
            "data/file_index": places[i][1],
            "dataset_from_index": int(starts[i]),
            "dataset_to_index": int(starts[i + 1]),
            "meta/episodes/chunk_index": 0,
            "meta/episodes/file_index": int(i >= 3),
        }
        for i in range(len(LENGTHS))
    ]
    pq.write_table(
        pa.Table.from_pylist(rows[:3]), root / "meta/episodes/chunk-000/file-000.parquet"
    )
    pq.write_table(
        pa.Table.from_pylist(rows[3:]), root / "meta/episodes/chunk-000/file-001.parquet"
    )
    return root


WHOLE, FILES, STRADDLING = (0, 22), (0, 4, 10, 15, 22), (0, 6, 8, 9, 14, 22)
"""All in one file; files that end with an episode; episodes that lie in up to three files."""


def expected(keys):
    columns = make_columns()
    whole = np.concatenate([columns[k].reshape(22, -1) for k in keys], axis=1).astype(np.float32)
    stops = np.cumsum(LENGTHS)
    return [
        (whole[stop - n : stop], columns["action"][stop - n : stop - 1])
        for n, stop in zip(LENGTHS, stops, strict=True)
    ]


@pytest.mark.parametrize("cuts", [WHOLE, FILES, STRADDLING])
@pytest.mark.parametrize("fixed", [True, False])
def test_episodes_come_back_however_the_files_are_cut(tmp_path, cuts, fixed):
    source = LeRobot(str(write(tmp_path / "d", make_columns(), cuts, fixed)))
    keys = ("observation.environment_state", "observation.phase", "observation.state")
    episodes = list(source.episodes())
    for episode, (states, actions) in zip(episodes, expected(keys), strict=True):
        np.testing.assert_array_equal(episode.observations, states)
        np.testing.assert_array_equal(episode.actions, actions)
        assert episode.observations.dtype == np.float32
    assert list(source.notices) == [
        "observation 'observation.images.top' was left out: it is no vector of numbers.",
        "no state follows the last action in this log: that action was dropped (5 episodes).",
    ]
    assert source.describe().endswith("with 5 episodes")


def test_small_batches_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("goalsets.data.sources.lerobot._ROWS", 2)
    source = LeRobot(str(write(tmp_path / "d", make_columns(), STRADDLING)))
    assert [len(e) for e in source.episodes()] == [n - 1 for n in LENGTHS]


def test_fields_have_the_names_of_the_features(tmp_path):
    root = str(write(tmp_path / "d", make_columns(), WHOLE))
    state = FieldSpec("state", 3, tuple(MOTORS))
    assert LeRobot(root).fields() == (
        FieldSpec("environment_state", 2),
        FieldSpec("phase", 1),
        state,
    )
    chosen = LeRobot(root, observations=("observation.state", "next.reward"))
    assert chosen.fields() == (state, FieldSpec("next.reward", 1))
    for episode, (states, _) in zip(
        chosen.episodes(), expected(("observation.state", "next.reward")), strict=True
    ):
        np.testing.assert_array_equal(episode.observations, states)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["x", "y"], ("x", "y")),
        ({"motors": ["x", "y"]}, ("x", "y")),
        ({"left": ["x"], "right": ["y"]}, ("x", "y")),
        ({"y": 1, "x": 0}, ("x", "y")),
        (["motors"], ()),
        ({"axes": ["x", "y", "z"]}, ()),
        ({}, ()),
        (None, ()),
    ],
)
def test_names_come_in_many_forms(names, expected):
    assert coordinate_names(names, 2) == expected


def test_extras_come_along(tmp_path):
    source = LeRobot(
        str(write(tmp_path / "d", make_columns(), STRADDLING)), extras=("timestamp", "action")
    )
    episode = list(source.episodes())[1]
    np.testing.assert_allclose(episode.extras["timestamp"], np.arange(6) / 10, rtol=1e-6)
    assert episode.extras["action"].shape == (6, 2)


@pytest.mark.parametrize(
    ("splits", "train", "validation"),
    [
        ({"train": "0:3", "val": "3:5"}, [3, 5, 2], [1, 6]),
        ({"validation": "1:2"}, [3, 2, 1, 6], [5]),
        ({"train": "0:5"}, [3, 5, 2, 1, 6], None),
    ],
)
def test_splits_are_those_of_the_info(tmp_path, splits, train, validation):
    root = write(tmp_path / "d", make_columns(), STRADDLING, info=INFO | {"splits": splits})
    source = LeRobot(str(root))
    assert [len(e) for e in source.episodes()] == train
    assert source.has_validation == (validation is not None)
    if validation is None:
        with pytest.raises(SourceError, match="has no validation episodes"):
            next(source.episodes("validation"))
    else:
        assert [len(e) for e in source.episodes("validation")] == validation


def test_the_hub_is_asked_for_everything_but_videos(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    root = write(tmp_path / "d", make_columns(), WHOLE)
    asked = []

    def snapshot(repo, **settings):
        asked.append((repo, settings))
        return str(root)

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    source = LeRobot("lerobot/pusht", download=True, revision="v3.0")
    assert len(list(source.episodes())) == 5
    settings = {"repo_type": "dataset", "revision": "v3.0", "allow_patterns": ["meta/*", "data/*"]}
    assert asked[0] == ("lerobot/pusht", settings)

    def refuse(repo, **settings):
        raise RuntimeError("401 Unauthorized")

    monkeypatch.setattr(hub, "snapshot_download", refuse)
    with pytest.raises(SourceError, match="cannot get the LeRobot data set 'lerobot/pusht' .* 401"):
        source.fields()


def test_lerobot_itself_is_not_needed(tmp_path):
    list(LeRobot(str(write(tmp_path / "d", make_columns(), WHOLE))).episodes())
    assert "lerobot" not in sys.modules


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("v2.1", r"format v2.1; expected v3.0.*convert_dataset_v21_to_v30 --repo-id"),
        ("v2.0", "format v2.0; expected v3.0"),
        (None, "format None; expected v3.0"),
        ("v4.0", "format v4.0, which is newer than v3.0"),
    ],
)
def test_other_versions_say_what_to_do(tmp_path, version, message):
    root = write(tmp_path / "d", make_columns(), WHOLE, info=INFO | {"codebase_version": version})
    with pytest.raises(SourceError, match=message):
        LeRobot(str(root)).fields()


def test_directories_that_are_none_are_named(tmp_path):
    with pytest.raises(SourceError, match="there is no directory lerobot/pusht.* set 'download'"):
        LeRobot("lerobot/pusht").fields()
    with pytest.raises(SourceError, match="is no LeRobot data set: there is no .*info.json"):
        LeRobot(str(tmp_path)).fields()
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text("{")
    with pytest.raises(SourceError, match="info.json cannot be read"):
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
    with pytest.raises(SourceError, match=r"file-000.parquet is no Parquet file, or only a part"):
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
    with pytest.raises(SourceError, match="episode 0: its frames do not lie together"):
        list(LeRobot(str(root)).episodes())


def test_rows_without_a_value_and_ragged_rows_are_named(tmp_path):
    root = write(tmp_path / "d", make_columns(), WHOLE)
    path = root / "data/chunk-000/file-000.parquet"
    table = pq.read_table(path)
    place = table.column_names.index("action")
    for rows, message in (
        ([[0.0, 1.0]] * 21 + [None], "'action' lacks a value in 1 rows"),
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
