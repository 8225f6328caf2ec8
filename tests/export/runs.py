"""Small trained runs to export."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.export import Exported, export_onnx
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run
from goalsets.train.session import train

STATES = record_play(1, 40, seed=5).observations[0]


@functools.cache
def place() -> Path:
    directory = tempfile.TemporaryDirectory()
    place.keep = directory  # until the process ends
    return Path(directory.name)


@functools.cache
def store() -> Store:
    return write_store(
        place() / "data", record_play(20, 50, seed=1).episodes(), layout=tabletop_layout(1)
    )


def small_run(
    learner: str = "gcbc",
    scheme: str = "gs-blockwise",
    fill: str = "learned",
    inputs: str = "plain",
) -> Run:
    return _small_run(learner, scheme, fill, inputs)


def exported(*kind: str) -> Exported:
    """An export of a small run, made once."""
    run = small_run(*kind)
    return _exported(run.config.learner, run.config.scheme, run.config.fill, run.config.inputs)


@functools.cache
def _exported(*kind: str) -> Exported:
    return export_onnx(small_run(*kind), place() / f"{'-'.join(kind)}.onnx")


@functools.cache
def _small_run(learner: str, scheme: str, fill: str, inputs: str) -> Run:
    config = TrainConfig(
        "tabletop-single-v0",
        learner=learner,
        scheme=scheme,
        fill=fill,
        inputs=inputs,
        steps=5,
        batch_size=32,
        hidden=32,
        learning_rate=1e-2,
    )
    return train(config, store(), place() / f"{learner}-{scheme}-{fill}-{inputs}")
