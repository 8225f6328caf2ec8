"""The run directory: everything that other commands read of a training run.

config.json               the configuration, the version of its format, the plugins it needs
layout.json               the layout of the states
frame.safetensors         the normaliser, the bounds of actions, and the horizon
data.json                 the data's fingerprint and size
checkpoint.safetensors    everything needed to continue training
weights/step-4000.safetensors   the weights at some steps, enough to act
metrics.csv, tensorboard/ the metrics of training
evaluations.jsonl         one line for each evaluation
planner.safetensors       the planner, if one was learned
landscape.npz             the predicted distances over a plane of states, if they were computed
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, read_layout, write_layout
from goalsets.core.door.tensors import read_arrays
from goalsets.data.propose.actions import recognise_actions
from goalsets.data.store import Store
from goalsets.learners import LEARNERS, Learner
from goalsets.lock import Lock
from goalsets.policy import TrainedPolicy
from goalsets.runs.build import make_learner, placeholder_bank
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame, read_frame, write_frame
from goalsets.runs.plugins import read_config, write_config
from goalsets.runs.records import DATA, EVALUATIONS, read_data, read_evaluations
from goalsets.runs.weights import (
    CHECKPOINT,
    Progress,
    Tensors,
    fill_learner,
    progress_of,
    read_tensors,
    save_weights,
)
from goalsets.workers import silence

if TYPE_CHECKING:
    from goalsets.plan import Planner

CONFIG = "config.json"
LOCK = "run.lock"
"""The lock of the process that trains in the directory."""
MODELS = Path(__file__).parent / "models"
"""The directory of the models that come with goalsets."""
BANK = "bank.safetensors"
WEIGHTS = "weights"
"""The directory of the kept weights."""
_LAYOUT, _FRAME = "layout.json", "frame.safetensors"
_USUAL_WIDTH = 1024
"""Networks up to this width are made without a check: they take only a few megabytes."""
_KEPT = re.compile(r"step-(0|[1-9][0-9]{0,17})\.safetensors")


class RunError(GoalsetsError):
    """A run directory cannot be read, written or continued; the message names it."""


@dataclass(frozen=True)
class Run:
    """An open run directory."""

    path: Path
    config: TrainConfig
    frame: Frame
    data: Mapping[str, Any]
    """The data's fingerprint, source, size and rate, and notes on its actions."""

    @classmethod
    def create(cls, path: Path, config: TrainConfig, frame: Frame, store: Store) -> Run:
        """Make the directory and write the files that are known before training."""
        data = {
            "fingerprint": store.fingerprint,
            "source": store.source,
            "episodes": store.train.num_episodes,
            "transitions": store.train.num_transitions,
            "rate": store.rate,
            "actions": recognise_actions(store.train, frame.bounds.switches),
        }
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_layout(frame.layout, path / _LAYOUT)
            (path / DATA).write_text(json.dumps(data, indent=2), encoding="utf-8")
            write_frame(frame, path / _FRAME)
            # The configuration comes last, because it makes the directory a run.
            (path / CONFIG).write_text(write_config(config), encoding="utf-8")
        except OSError as error:
            raise RunError(f"cannot write the run directory {path}: {error}.") from error
        return cls(path, config, frame, data)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open a run directory, or, by its name, a model that comes with goalsets."""
        path = _directory(Path(path))
        try:
            config = read_config(path / CONFIG)
            data = read_data(path / DATA)
            frame = read_frame(path / _FRAME, read_layout(path / _LAYOUT))
        except GoalsetsError as error:
            raise RunError(f"the run directory {path} cannot be read: {error}") from None
        return cls(path, config, frame, data)

    def check_same(self, config: TrainConfig, store: Store) -> None:
        """Raise an error unless this run has the same configuration and data."""
        ours, theirs = dataclasses.asdict(self.config), dataclasses.asdict(config)
        found = [
            f"{name} is {ours[name]!r}, not {theirs[name]!r}"
            for name in ours
            if ours[name] != theirs[name]
        ]
        if self.data["fingerprint"] != store.fingerprint:
            found.append("its data is different")
        if found:
            raise RunError(
                f"{self.path} is a different run: {'; '.join(found)}. Continue it with its own "
                "settings, or choose another --output."
            )

    @property
    def distance_unit(self) -> str | None:
        """The unit of its policy's distance; None if its learner learns none."""
        return LEARNERS[self.config.learner].distance_unit

    def tell_bounds(self) -> dict[str, Any]:
        """The bounds of actions, their origin, switches and notes, for a model card."""
        bounds, notes = self.frame.bounds, self.data.get("actions", ())
        return {**bounds.to_dict(), "from": bounds.origin_in_words, "notes": list(notes)}

    @property
    def shipped(self) -> bool:
        """Whether it comes with goalsets. Nothing is written to such a model."""
        return self.path.parent == MODELS

    def bank(self) -> NDArray[np.float32] | None:
        """Held-out states `[N, D]` that can be goals without the data; few runs have them."""
        path = self.path / BANK
        if not path.exists():
            return None
        arrays, _ = read_arrays(path, kind=RunError)
        states = arrays.get("states")
        if states is None or states.shape[1:] != (self.frame.layout.dim,) or not len(states):
            raise RunError(f"{path} must hold states of {self.frame.layout.dim} coordinates.")
        return states.astype(np.float32, copy=False)

    @property
    def checkpoint(self) -> Path:
        """The path of the checkpoint."""
        return self.path / CHECKPOINT

    @property
    def steps(self) -> list[int]:
        """The steps whose weights were kept, in order."""
        names = (file.name for file in (self.path / WEIGHTS).glob("step-*.safetensors"))
        found = (_KEPT.fullmatch(name) for name in names)  # there may be other files
        return sorted(int(match[1]) for match in found if match is not None)

    def weights(self, step: int) -> Path:
        """The path of the weights of a step."""
        return self.path / WEIGHTS / f"step-{step}.safetensors"

    def keep_weights(self, learner: Learner, progress: Progress) -> None:
        """Store a learner's weights under its step."""
        path = self.weights(progress.step)
        path.parent.mkdir(exist_ok=True)
        save_weights(path, learner, progress)

    def load(self, step: int | None = None) -> tuple[TrainedPolicy, Progress]:
        """The policy at a step whose weights were kept, or at the latest checkpoint."""
        if step is None and self.shipped and self.steps:
            step = self.steps[-1]
        path = self.checkpoint if step is None else self.weights(step)
        if not path.exists():
            kept = ", ".join(map(str, self.steps)) or "none"
            asked = "a checkpoint" if step is None else f"the weights of step {step}"
            raise RunError(f"{self.path} does not have {asked}; steps with weights: {kept}.")
        values, header = read_tensors(path, acting=True)  # a checkpoint has three times as many
        learner = self._fresh_learner(path, values)
        fill_learner(path, learner, values, training=False)
        progress = progress_of(header, path)
        frame = self.frame
        policy = TrainedPolicy(learner, frame.layout, frame.normaliser, frame.bounds, self.planner)
        return policy, progress

    def _fresh_learner(self, path: Path, values: Tensors) -> Learner:
        """A learner for the weights of a file. The file must contain tensors of a large width."""
        hidden = self.config.hidden
        if hidden > _USUAL_WIDTH and not any(hidden in value.shape for value in values.values()):
            raise RunError(
                f"{path} does not fit the configuration: it has no tensor of the width {hidden:,}."
            )
        try:
            bank = placeholder_bank(self.config, self.frame)
            return make_learner(self.config, self.frame, bank)
        except (RuntimeError, MemoryError, TypeError, ValueError) as error:
            raise RunError(
                f"the networks that {self.path / CONFIG} describes cannot be made: {error}"
            ) from None

    def planner(
        self,
        store: Store | str | Path | None = None,
        *,
        again: bool = False,
        say: Callable[[str], None] = silence,
    ) -> Planner:
        """The run's planner: see `goalsets.runs.planning.planner_of`."""
        from goalsets.runs.planning import planner_of  # imports SciPy, which only planning needs

        return planner_of(self, store, again=again, say=say)

    def add_evaluation(self, record: Mapping[str, Any]) -> None:
        """Append a line to the evaluations in one step."""
        if self.shipped:
            raise RunError(
                f"the model {self.path.name!r} comes with goalsets, so no records are added to it: "
                f"copy {self.path} to a directory of your own and evaluate the copy."
            )
        line = json.dumps(record) + "\n"
        try:
            file = os.open(self.path / EVALUATIONS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(file, line.encode())
            finally:
                os.close(file)
        except OSError as error:
            raise RunError(f"cannot write {self.path / EVALUATIONS}: {error}.") from error

    def evaluations(self) -> list[dict[str, Any]]:
        """All evaluations, in their order."""
        records, damaged = read_evaluations(self.path)
        if damaged:
            lines = ", ".join(map(str, damaged))
            raise RunError(
                f"{self.path / EVALUATIONS} is damaged in line {lines}: remove these lines."
            )
        return records


def with_plan(planner: Planner | None) -> dict[str, Any]:
    """The fields of an evaluation's record about chains of questions and the planner's data.

    Without a planner there are none, so that older records have the same form as new ones.
    """
    return {"plan": True, "planner_data": planner.data} if planner is not None else {}


def is_planned(record: Mapping[str, Any]) -> bool:
    """Whether an evaluation used chains of questions; it is never mixed with others."""
    return bool(record.get("plan", False))


def load(run: str | Path, step: int | None = None) -> TrainedPolicy:
    """Load a trained policy.

    Args:
        run: A run directory, or a model that comes with goalsets: "demo" or "two-cubes".
        step: A step with kept weights; by default the latest checkpoint.
    """
    return Run.open(run).load(step)[0]


def lock_run(directory: Path) -> Lock:
    """The lock for training in a run directory. Reading and adding evaluations need no lock."""
    return Lock(directory / LOCK, f"train in {directory}", again=True)


def shipped_models() -> list[str]:
    """The names of the models that come with goalsets."""
    return sorted(config.parent.name for config in MODELS.glob(f"*/{CONFIG}"))


def _directory(path: Path) -> Path:
    """The run directory for a path or the name of a shipped model."""
    if (path / CONFIG).exists():
        return path
    names = shipped_models()
    if str(path) in names:
        return MODELS / path
    also = f" The models that come with goalsets: {', '.join(names)}." if names else ""
    raise RunError(f"{path} is not a run directory: it has no {CONFIG}.{_near(path) or also}")


def _near(path: Path) -> str:
    """A sentence that names the runs inside a directory that is not a run itself."""
    found = sorted(str(p.parent) for p in path.glob("**/" + CONFIG))[:3] if path.is_dir() else []
    return f" There are runs inside it: {', '.join(found)}." if found else ""
