"""Reading each kind of file, as commands do, down to an answer that can be compared."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from goalsets.data.store import Store
from goalsets.envs.tabletop import tabletop_layout
from tests.fuzz.good import TASK, run_path


def _digest(*arrays: np.ndarray) -> str:
    state = hashlib.blake2b(digest_size=8)
    for array in arrays:
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()


def open_store(place: Path) -> object:
    mapped = Store.open(place / "data", mapped=True)
    rows, _ = mapped.train.draw_transitions(4, np.random.default_rng(0))
    mapped.train.states(rows)
    store = Store.open(place / "data")
    return _digest(store.train.observations, store.train.actions, store.validation.observations)


def act(place: Path) -> object:
    from goalsets.runs.run import Run

    run = Run.open(place)
    state = np.linspace(0, 1, 18, dtype=np.float32)
    found = [run.load(step)[0].act(state, state, "cube_pos") for step in (None, *run.steps)]
    return _digest(*found)


def resume(place: Path) -> object:
    import torch

    from goalsets.relabel.sampler import Generators
    from goalsets.runs.build import make_learner
    from goalsets.runs.run import Run
    from goalsets.train.checkpoint import load_checkpoint

    run = Run.open(run_path())
    learner = make_learner(run.config, run.frame)
    optimiser = torch.optim.AdamW([p for p in learner.parameters() if p.requires_grad])
    rng = Generators(np.random.default_rng(0), np.random.default_rng(1))
    progress = load_checkpoint(place / "checkpoint.safetensors", learner, optimiser, rng)
    state = [t.numpy() for own in optimiser.state.values() for t in own.values()]
    drawn = [
        rng.goals.random(3),
        rng.queries.random(3),
        np.array([progress.step, progress.seconds]),
    ]
    return _digest(*(t.numpy() for t in learner.state_dict().values()), *state, *drawn)


def report(place: Path) -> object:
    from goalsets.report.reading import read_runs
    from goalsets.report.results import gather
    from goalsets.runs.run import Run

    run = Run.open(run_path())
    shutil.copyfile(run_path() / "config.json", place / "config.json")
    found = read_runs([place])
    gather(found.runs, found.notes)
    return Run(place, run.config, run.frame, run.data).evaluations()


def metrics(place: Path) -> object:
    from goalsets.train.log import CsvLog

    CsvLog(place, after=2).record(3, 1.0, {"new": 2.0})
    return None


def planner(place: Path) -> object:
    from goalsets.plan import read_planner

    found = read_planner(place / "planner.safetensors")
    moves = found.moves
    return _digest(moves.before, moves.after, moves.changed, moves.steps, found.usual), found.data


def runtime(place: Path) -> object:
    from goalsets.runtime import load

    policy = load(place / "policy.onnx")
    state = np.linspace(0, 1, 18, dtype=np.float32)
    return _digest(policy.act(state, state, "cube_pos"), policy.distance(state, state, "cube_pos"))


def suite(place: Path) -> object:
    from goalsets.evaluate.suites.suite import Suite

    return Suite.load(place / "suite.json").digest


def description(place: Path) -> object:
    from goalsets.evaluate.suites.description import read_description

    found = read_description(place / "suite.yaml")
    found.check(TASK, tabletop_layout(1))
    return found


def sweep(place: Path) -> object:
    from goalsets.sweep.files import read_sweep

    return [job.name for job in read_sweep(place / "sweep.yaml").jobs()]


def status(place: Path) -> object:
    from goalsets.sweep.drive import read_driver
    from goalsets.sweep.state import read_status

    return read_status(place), read_driver(place)


def episodes(name: str, file: str, **options: Any) -> Callable[[Path], object]:
    def read(place: Path) -> object:
        from goalsets.data.sources import SOURCES

        path = place / file
        given = {"csv": ((path,),), "parquet": ((path,),), "lerobot": (str(path),)}.get(
            name, (path,)
        )
        source = SOURCES[name](*given, **options)
        source.fields()
        source.describe()
        splits = ["train", "validation"] if source.has_validation else ["train"]
        found = [episode for split in splits for episode in source.episodes(split)]
        return _digest(*(part for e in found for part in (e.observations, e.actions)))

    return read


def written(name: str, content: Callable[[], bytes]) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        (place / name).write_bytes(content())

    return make
