"""Each kind of file: how to make a good one, how to read it, and how to change what it says.

Kinds that are *sealed* have a digest: whatever is changed, they give the same answer or an error.
The others may mean something else after a change, as a text does in which a number was changed.
"""

from __future__ import annotations

import dataclasses

from goalsets.core import read_layout, write_layout
from goalsets.envs.tabletop import tabletop_layout
from tests.fuzz.good import (
    STATUS,
    SUITE,
    SWEEP,
    copy_run,
    copy_store,
    make_flat,
    make_hdf5,
    make_lerobot,
    make_parquet,
    make_planner,
    make_suite,
    make_table,
    npz_bytes,
    onnx_bytes,
)
from tests.fuzz.kind import Change, Kind
from tests.fuzz.mutate import Rng, change_bytes
from tests.fuzz.others import OTHERS
from tests.fuzz.reading import (
    act,
    description,
    episodes,
    metrics,
    open_store,
    planner,
    report,
    resume,
    runtime,
    status,
    suite,
    sweep,
    written,
)
from tests.fuzz.says import (
    forge,
    says_csv,
    says_hdf5,
    says_json,
    says_lines,
    says_npy,
    says_npz,
    says_tensors,
    says_yaml,
)


def _layout(name: str, says: Change) -> Kind:
    return Kind(
        lambda place: write_layout(tabletop_layout(1), place / name),
        name,
        lambda place: read_layout(place / name).dim,
        says,
    )


FILES: dict[str, Kind] = {
    "layout-json": _layout("a.json", says_json),
    "layout-yaml": _layout("a.yaml", says_yaml),
    "store-index": Kind(copy_store, "data/store.json", open_store, says_json),
    "store-array": Kind(copy_store, "data/data-*/*.npy", open_store, says_npy, sealed=True),
    "npz": Kind(written("log.npz", npz_bytes), "log.npz", episodes("npz", "log.npz"), says_npz),
    "csv": Kind(make_table, "log.csv", episodes("csv", "log.csv", episode="episode"), says_csv),
    "parquet": Kind(
        make_parquet, "log.parquet", episodes("parquet", "log.parquet", episode="episode")
    ),
    "lerobot": Kind(make_lerobot, "meta/info.json", episodes("lerobot", ""), says_json),
    "hdf5-robomimic": Kind(make_hdf5, "low_dim.hdf5", episodes("hdf5", "low_dim.hdf5"), says_hdf5),
    "hdf5-flat": Kind(make_flat, "flat.hdf5", episodes("hdf5", "flat.hdf5"), says_hdf5),
}
"""Layouts and data."""

SEALED: dict[str, Kind] = {
    "normaliser": Kind(copy_run, "frame.safetensors", act, says_tensors, sealed=True),
    "weights": Kind(copy_run, "weights/*.safetensors", act, says_tensors, sealed=True),
    "checkpoint": Kind(copy_run, "checkpoint.safetensors", resume, says_tensors, sealed=True),
    # Acting reads a part of it, and checks only that part.
    "acting": Kind(copy_run, "checkpoint.safetensors", act, says_tensors, sealed=True),
    "planner": Kind(make_planner, "planner.safetensors", planner, says_tensors, sealed=True),
    "suite": Kind(make_suite, "suite.json", suite, says_json, sealed=True),
    "onnx": Kind(written("policy.onnx", onnx_bytes), "policy.onnx", runtime, sealed=True),
}
"""Files with a digest."""

RUNS: dict[str, Kind] = {
    "config": Kind(copy_run, "config.json", act, says_json),
    "run-layout": Kind(copy_run, "layout.json", act, says_json),
    "data": Kind(copy_run, "data.json", act, says_json),
    "evaluations": Kind(copy_run, "evaluations.jsonl", report, says_lines),
    "metrics": Kind(copy_run, "metrics.csv", metrics, says_csv),
    "suite-description": Kind(
        written("suite.yaml", SUITE.encode), "suite.yaml", description, says_yaml
    ),
    "sweep": Kind(written("sweep.yaml", SWEEP.encode), "sweep.yaml", sweep, says_yaml),
    "status": Kind(written("status.json", STATUS.encode), "status.json", status, says_json),
    **SEALED,
    # With a digest that fits: what an attacker would write, who can compute one, too.
    **{
        f"forged-{name}": dataclasses.replace(kind, sealed=False, forged=True)
        for name, kind in SEALED.items()
    },
}
"""Runs, and what is made from them."""

KINDS = FILES | RUNS | OTHERS


def changed(data: bytes, kind: Kind, rng: Rng) -> bytes:
    """A file after a change of its bytes or of what it says."""
    bytewise = kind.says is None or rng.random() < 0.5
    found = change_bytes(data, rng) if bytewise else kind.says(data, rng)
    return forge(found) if kind.forged else found
