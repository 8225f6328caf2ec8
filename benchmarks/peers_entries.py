"""Who takes part in the comparison of `benchmarks.peers`, with which settings, and from where.

A peer has the hyperparameters that its authors publish for the task, and its own batch size. We
take the paper's strongest learner on the task by its main table, and a second one. We take agents
of OGBench that have a high success on the task in OGBench's paper.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

Kind = Literal["ours", "released", "ogbench"]
WHERE: Mapping[Kind, tuple[str, str, str]] = {
    "released": ("GOALSETS_RELEASED", "the paper's released code", "src/agent"),
    "ogbench": ("GOALSETS_OGBENCH_IMPLS", "OGBench's own agents, in JAX", "agents"),
}
"""For each kind of peer the variable that names its directory, its title, and a directory in it."""

NOISY, DOUBLE, MAZE = "cube-single-noisy-v0", "cube-double-play-v0", "pointmaze-medium-navigate-v0"
TASKS = (NOISY, DOUBLE, MAZE)


@dataclass(frozen=True)
class Entry:
    """One contestant on one task."""

    task: str
    kind: Kind
    learner: str
    minutes: float
    """Its budget: processor minutes of preparation and training."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: str = ""
    """Where the settings come from."""

    @property
    def name(self) -> str:
        """Its name in tables and records."""
        scheme = self.settings.get("scheme")
        return f"{self.kind} {self.learner}" + (f" {scheme}" if scheme else "")


def _ours(task: str, minutes: float, source: str, **settings: Any) -> Entry:
    return Entry(task, "ours", "gcbc", minutes, settings, source)


def _released(task: str, learner: str, scheme: str, alpha: float | None, minutes: float) -> Entry:
    settings = {"scheme": scheme, "alpha": alpha, "batch_size": 8192, "learning_rate": 8e-4}
    source = "its full_run.sh (alpha, scheme) and configs/train.yaml (batch, rate, clip)"
    return Entry(task, "released", learner, minutes, settings, source)


def _ogbench(task: str, learner: str, minutes: float, **changed: float) -> Entry:
    # The rest, such as a batch of 1024 and a learning rate of 3e-4, is in the agent's own file.
    return Entry(task, "ogbench", learner, minutes, changed, "its impls/hyperparameters.sh")


ENTRIES = (
    _ours(
        NOISY,
        10,
        "results/sweeps/results.yaml: the preset cpu",
        scheme="gs-blockwise",
        preset="cpu",
    ),
    _released(NOISY, "gcdl", "gs-blockwise", 1.0, 30),
    # Not the strongest, but a step takes a fifth of the time.
    _released(NOISY, "gcbc", "gs-blockwise", None, 30),
    _ogbench(NOISY, "gciql", 30, alpha=0.03),
    _ours(
        DOUBLE,
        15,
        "results/hour/ablation.yaml: its first row",
        scheme="gs-direct",
        preset="hour",
        chain=True,
        overrides={"steps": 6000},
    ),
    _released(DOUBLE, "gcivl", "gs-blockwise", 10.0, 60),
    _released(DOUBLE, "gcdl", "gs-semantic", 1.0, 60),
    _ogbench(DOUBLE, "gciql", 60, alpha=1.0),
    _ogbench(DOUBLE, "gcivl", 60, alpha=10.0),
    _ours(
        MAZE,
        10,
        "results/hour/point.yaml: the preset hour",
        scheme="gs-direct",
        preset="hour",
        chain=True,
    ),
    _released(MAZE, "gcdl", "gs-semantic", 1.0, 15),
    _released(MAZE, "gcivl", "gs-semantic", 10.0, 15),
    _ogbench(MAZE, "qrl", 15, alpha=0.0003),
    _ogbench(MAZE, "hiql", 15, high_alpha=3.0, low_alpha=3.0),
)


def chosen(tasks: Sequence[str], patterns: Sequence[str]) -> list[Entry]:
    """The entries of some tasks whose names match a pattern; without any, all."""
    return [
        entry
        for entry in ENTRIES
        if (not tasks or entry.task in tasks)
        and (not patterns or any(fnmatch(entry.name, pattern) for pattern in patterns))
    ]


def absent(kind: Kind) -> str | None:
    """Why contestants of a kind cannot take part here, in a sentence; None if they can."""
    if kind not in WHERE:
        return None
    variable, title, inside = WHERE[kind]
    path = os.environ.get(variable)
    if not path:
        return f"{variable} is not set, so {title} does not take part."
    if not (Path(path) / inside).is_dir():
        return f"{variable} is {path}, which has no directory {inside!r}, so {title} is left out."
    return None


def code_of(kind: Kind) -> str | None:
    """A digest of a peer's Python files, so that a record says which code it measured."""
    if kind not in WHERE:
        return None
    root = Path(os.environ[WHERE[kind][0]])
    digest = hashlib.blake2b(digest_size=4)
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return digest.hexdigest()
