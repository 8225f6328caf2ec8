"""Good files of each kind, small ones."""

from __future__ import annotations

import csv
import functools
import io
import json
import shutil
from pathlib import Path

import numpy as np

from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout

TASK = "tabletop-single-v0"


@functools.cache
def small_store() -> Store:
    import tempfile

    place = tempfile.TemporaryDirectory()
    small_store.keep = place  # type: ignore[attr-defined] # until the process ends
    episodes = list(record_play(12, 30, seed=1).episodes())
    return write_store(
        Path(place.name) / "data",
        episodes[:-2],
        episodes[-2:],
        layout=tabletop_layout(1),
    )


@functools.cache
def run_path() -> Path:
    """A run directory, trained for a moment."""
    from goalsets.runs.config import TrainConfig
    from goalsets.train.session import Pace, train

    config = TrainConfig(
        TASK, learner="gciql", steps=3, batch_size=16, hidden=8, settings={"alpha": 0.3}
    )
    run = train(config, small_store(), small_store().path.parent / "run", pace=Pace(log_every=1))
    episode = {"task_id": 1, "seed": 3, "success": True, "steps": 5}
    answer = {"success": 1.0, "num_episodes": 1, "interval": [0.2, 1.0], "episodes": [episode]}
    run.add_evaluation(
        {"kind": "official", "step": 3, "training_seconds": 1.0, "by_goal": {"1": 1.0}, **answer}
    )
    by_predicate = {
        "cube": {"query": "cube_pos", **answer},
        "yaw": {"query": "x", "not_asked": "no"},
    }
    run.add_evaluation(
        {"kind": "suite", "suite": "s", "digest": "d", "step": 3, "by_predicate": by_predicate}
    )
    return run.path


def copy_run(place: Path) -> None:
    shutil.copytree(run_path(), place, dirs_exist_ok=True)


def make_suite(place: Path) -> None:
    from goalsets.evaluate.suites.suite import Suite, SuiteEpisode, SuiteQuestion

    question = SuiteQuestion("cube_pos", "validation", None, 2.0, "", {"0": [0.0, 1.0, 2.0]})
    episodes = tuple(SuiteEpisode("cube", 1, seed, (0.5,) * 18) for seed in range(3))
    Suite("s", TASK, "abc", {"fingerprint": "f"}, 0, {"cube": question}, episodes).save(
        place / "suite.json"
    )


def make_planner(place: Path) -> None:
    from goalsets.plan import write_planner
    from goalsets.runs.planning import learn_planner

    write_planner(learn_planner(tabletop_layout(1), small_store()), place / "planner.safetensors")


@functools.cache
def onnx_bytes() -> bytes:
    from goalsets.export import export_onnx
    from goalsets.runs.run import Run

    path = small_store().path.parent / "policy.onnx"
    return export_onnx(Run.open(run_path()), path).path.read_bytes()


def make_hdf5(place: Path) -> None:
    import h5py

    with h5py.File(place / "low_dim.hdf5", "w") as file:
        for number in range(3):
            rng = np.random.default_rng(number)
            demo = file.create_group(f"data/demo_{number}")
            demo["actions"] = rng.normal(size=(5, 2)).astype(np.float32)
            demo["obs/pos"] = rng.normal(size=(5, 3))
            demo["obs/object"] = rng.normal(size=(5, 4))
            demo["next_obs/pos"] = rng.normal(size=(5, 3))
            demo["next_obs/object"] = rng.normal(size=(5, 4))
        file["mask/train"] = np.array([b"demo_0", b"demo_1"])
        file["mask/valid"] = np.array([b"demo_2"])
        file["data"].attrs["env_args"] = json.dumps({"env_kwargs": {"control_freq": 20}})


def rows() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = {"observations": rng.normal(size=(20, 3)), "actions": rng.normal(size=(20, 2))}
    rows |= {"terminals": np.arange(20) % 10 == 9, "timeouts": np.zeros(20, bool)}
    return {name: value.astype(np.float32) for name, value in rows.items()}


def make_flat(place: Path) -> None:
    import h5py

    with h5py.File(place / "flat.hdf5", "w") as file:
        for name, values in rows().items():
            file[name] = values


def make_table(place: Path) -> None:
    found = rows()
    header = ["x", "y", "z", "action_a", "action_b", "episode"]
    with (place / "log.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [
                header,
                *np.column_stack(
                    [found["observations"], found["actions"], np.arange(20) // 10]
                ).tolist(),
            ]
        )


def make_parquet(place: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = rows()
    columns = {
        "state": list(found["observations"]),
        "action": list(found["actions"]),
        "episode": np.arange(20) // 10,
    }
    pq.write_table(pa.table(columns), place / "log.parquet")


def make_lerobot(place: Path) -> None:
    from tests.data.lerobot_files import FILES, make_columns, write

    write(place, make_columns(), FILES)


def npz_bytes() -> bytes:
    found = io.BytesIO()
    np.savez(found, **rows())
    return found.getvalue()


def copy_store(place: Path) -> None:
    shutil.copytree(small_store().path, place / "data")


SUITE = """
tasks: [tabletop-single-v0]
episodes: 2
margin: 1.5
predicates:
  cube: {query: cube_pos, tolerances: {block0_pos: 0.05}, where: "block0_pos.x > 0.1"}
  hand: {query: "eff_pos & eff_yaw", margin: 1, description: where the hand is}
"""
SWEEP = """
tasks: tabletop-single-v0
learners: [gcbc, gciql]
schemes: [gs-blockwise, her-full]
seeds: [0, 1]
preset: small
overrides: [{steps: 50}, {hidden: 64, settings: {alpha: 0.3}}]
evaluation: {episodes: 2, last: 1}
suites: [{description: shipped, episodes: 1, schemes: [gs-blockwise]}]
pace: {log_every: 10, checkpoint_every: 20, keep_every: 25}
data: {make: never}
"""


STATUS = '{"state": "running", "step": 3, "steps": 9, "updated": 1.5, "host": "h"}'
