"""A small data set in the published v3.0 layout of LeRobot, cut into files as one likes."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

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
WHOLE, FILES, STRADDLING = (0, 22), (0, 4, 10, 15, 22), (0, 6, 8, 9, 14, 22)
"""All in one file; files that end with an episode; episodes that lie in up to three files."""


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
