"""Tables of episodes, written by the ecosystem's own writers."""

from __future__ import annotations

import csv

import numpy as np
import pytest

LENGTHS = (5, 3, 8)


def make_episode(number, length, rate=20.0):
    """Columns of an episode, in the order of a file."""
    rng = np.random.default_rng(number)
    return {
        "timestamp": 100.0 + number + np.arange(length) / rate,
        "eef.x": rng.normal(size=length),
        "eef.y": rng.normal(size=length),
        "eef.z": rng.normal(size=length),
        "gripper": rng.integers(0, 2, length),
        "action_dx": rng.normal(size=length),
        "action_dy": rng.normal(size=length),
    }


def make_episodes():
    return [make_episode(number, length) for number, length in enumerate(LENGTHS)]


def write(path, columns):
    """Let the ecosystem's own writers write a table."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    else:
        pa = pytest.importorskip("pyarrow", reason="needs pyarrow, of the extra 'parquet'")
        pq = pytest.importorskip("pyarrow.parquet")
        table = {
            name: list(values) if np.ndim(values) == 2 else values
            for name, values in columns.items()
        }
        pq.write_table(pa.table(table), path, row_group_size=4)
    return path
