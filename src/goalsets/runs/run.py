"""The run directory: all that anything downstream ever reads of a training run.

config.json               the resolved configuration, its format's version, the plugins it needs
layout.json               what the state's coordinates mean
frame.safetensors         the normaliser, the actions' bounds, and the horizon
data.json                 the data's fingerprint and size
checkpoint.safetensors    what it takes to go on training
weights/step-4000.safetensors   what it takes to act, at moments worth keeping
metrics.csv, tensorboard/ what was recorded on the way
evaluations.jsonl         one line an evaluation
planner.safetensors       what the data shows can be done, where somebody asked for a plan
landscape.npz             what it predicts over a plane of states, where somebody asked for that
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from goalsets.core import GoalsetsError, read_layout, write_layout
from goalsets.data.normaliser import Normaliser
from goalsets.data.propose.actions import recognise_actions
from goalsets.data.store import Store
from goalsets.learners import LEARNERS, Learner
from goalsets.policy import TrainedPolicy
from goalsets.runs.build import make_learner, placeholder_bank
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import HIGH, LOW, ORIGIN, Frame, read_bounds
from goalsets.runs.plugins import read_config, write_config
from goalsets.runs.weights import CHECKPOINT, Progress, load_weights, save_weights
from goalsets.workers import silence

if TYPE_CHECKING:
    from goalsets.plan import Planner

CONFIG = "config.json"
DATA, EVALUATIONS = "data.json", "evaluations.jsonl"
MODELS = Path(__file__).parent / "models"
"""Where the models are that come with goalsets."""
BANK = "bank.safetensors"
WEIGHTS = "weights"
"""The directory of the weights that were kept."""
_LAYOUT, _FRAME = "layout.json", "frame.safetensors"


class RunError(GoalsetsError):
    """A run directory that cannot be read, written or continued; the message says which."""


@dataclass(frozen=True)
class Run:
    """A run directory, open."""

    path: Path
    config: TrainConfig
    frame: Frame
    data: Mapping[str, Any]
    """The data's fingerprint, source, size and rate, and what its actions may be."""

    @classmethod
    def create(cls, path: Path, config: TrainConfig, frame: Frame, store: Store) -> Run:
        """Make the directory and write what is known before training."""
        data = {
            "fingerprint": store.fingerprint,
            "source": store.source,
            "episodes": store.train.num_episodes,
            "transitions": store.train.num_transitions,
            "rate": store.rate,
            "actions": recognise_actions(store.train),
        }
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_layout(frame.layout, path / _LAYOUT)
            (path / DATA).write_text(json.dumps(data, indent=2), encoding="utf-8")
            fields = dataclasses.asdict(frame.normaliser)
            fields |= {LOW: frame.bounds.low, HIGH: frame.bounds.high}
            tensors = {name: torch.from_numpy(value) for name, value in fields.items()}
            told = {"horizon": str(frame.horizon), ORIGIN: frame.bounds.origin}
            save_file(tensors, path / _FRAME, told)
            # Last: a directory with a configuration is a run.
            (path / CONFIG).write_text(write_config(config), encoding="utf-8")
        except (OSError, SafetensorError) as error:
            raise RunError(f"cannot write the run directory {path}: {error}.") from error
        return cls(path, config, frame, data)

    @classmethod
    def open(cls, path: str | Path) -> Run:
        """Open a run directory, or a model that comes with goalsets, by its name."""
        path = _directory(Path(path))
        try:
            config = read_config((path / CONFIG).read_text(encoding="utf-8"))
            data = json.loads((path / DATA).read_text(encoding="utf-8"))
            with safe_open(path / _FRAME, framework="np") as file:
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                told = file.metadata()
                horizon = int(told["horizon"])
            bounds = read_bounds(arrays, told)
            frame = Frame(read_layout(path / _LAYOUT), Normaliser(**arrays), horizon, bounds)
        except GoalsetsError as error:
            raise RunError(f"the run directory {path} cannot be read: {error}") from None
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            raise RunError(f"the run directory {path} is damaged: {error}") from None
        return cls(path, config, frame, data)

    def check_same(self, config: TrainConfig, store: Store) -> None:
        """Raise an error unless this run is of that configuration and data."""
        ours, theirs = dataclasses.asdict(self.config), dataclasses.asdict(config)
        found = [
            f"{name} is {ours[name]!r}, not {theirs[name]!r}"
            for name in ours
            if ours[name] != theirs[name]
        ]
        if self.data["fingerprint"] != store.fingerprint:
            found.append("its data is another")
        if found:
            raise RunError(
                f"{self.path} is another run: {'; '.join(found)}. Continue it with its own "
                "settings, or choose another --output."
            )

    @property
    def distance_unit(self) -> str | None:
        """What its policy's distance counts; None if its learner learns none."""
        return LEARNERS[self.config.learner].distance_unit

    def tell_bounds(self) -> dict[str, Any]:
        """The bounds of actions, and what else is known of these, for a model card."""
        bounds, notes = self.frame.bounds, self.data.get("actions", ())
        return {**bounds.to_dict(), "from": bounds.origin_in_words, "notes": list(notes)}

    @property
    def shipped(self) -> bool:
        """Whether it comes with goalsets: it can act, and nothing is written to it."""
        return self.path.parent == MODELS

    def bank(self) -> NDArray[np.float32] | None:
        """Held-out states `[N, D]` to take goals from without the data; few runs have them."""
        path = self.path / BANK
        if not path.exists():
            return None
        with safe_open(path, framework="np") as file:
            return file.get_tensor("states")

    @property
    def checkpoint(self) -> Path:
        """Where the checkpoint is, or will be."""
        return self.path / CHECKPOINT

    @property
    def steps(self) -> list[int]:
        """The steps whose weights were kept, in order."""
        files = (self.path / WEIGHTS).glob("step-*.safetensors")
        return sorted(int(file.stem.removeprefix("step-")) for file in files)

    def weights(self, step: int) -> Path:
        """Where the weights of a step are, or will be."""
        return self.path / WEIGHTS / f"step-{step}.safetensors"

    def keep_weights(self, learner: Learner, progress: Progress) -> None:
        """Keep a learner's weights under its step."""
        path = self.weights(progress.step)
        path.parent.mkdir(exist_ok=True)
        save_weights(path, learner, progress)

    def load(self, step: int | None = None) -> tuple[TrainedPolicy, Progress]:
        """The policy at a step whose weights were kept, or at the latest checkpoint."""
        if step is None and self.shipped:
            step = self.steps[-1]
        path = self.checkpoint if step is None else self.weights(step)
        if not path.exists():
            kept = ", ".join(map(str, self.steps)) or "none"
            asked = "a checkpoint" if step is None else f"the weights of step {step}"
            raise RunError(f"{self.path} has not kept {asked}; steps kept: {kept}.")
        bank = placeholder_bank(self.config, self.frame)
        learner = make_learner(self.config, self.frame, bank)
        progress = load_weights(path, learner)
        frame = self.frame
        policy = TrainedPolicy(learner, frame.layout, frame.normaliser, frame.bounds, self.planner)
        return policy, progress

    def planner(
        self,
        store: Store | str | Path | None = None,
        *,
        again: bool = False,
        say: Callable[[str], None] = silence,
    ) -> Planner:
        """The run's planner: see `goalsets.runs.planning.planner_of`."""
        from goalsets.runs.planning import planner_of  # with scipy, for those who plan

        return planner_of(self, store, again=again, say=say)

    def add_evaluation(self, record: Mapping[str, Any]) -> None:
        """Append a line to the evaluations, whole or not at all."""
        if self.shipped:
            raise RunError(
                f"the model {self.path.name!r} comes with goalsets and keeps no new records: copy "
                f"{self.path} to a place of yours, and evaluate the copy."
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
        """All evaluations, in the order they were made."""
        records, damaged = read_evaluations(self.path)
        if damaged:
            lines = ", ".join(map(str, damaged))
            raise RunError(
                f"{self.path / EVALUATIONS} is damaged in line {lines}: remove what is no record."
            )
        return records


def read_evaluations(run: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """All records of a run directory that can be read, and the numbers of the lines that cannot."""
    path = run / EVALUATIONS
    records: list[dict[str, Any]] = []
    damaged: list[int] = []
    if not path.exists():
        return records, damaged
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}.") from None
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except ValueError:
            damaged.append(number)
            continue
        if isinstance(record, dict) and isinstance(record.get("kind"), str):
            records.append(record)
        else:
            damaged.append(number)
    return records, damaged


def with_plan(planner: Planner | None) -> dict[str, Any]:
    """What the record of an evaluation says of chains of questions, and of the planner's data.

    Nothing where none were asked: so records that are older say the same as new ones.
    """
    return {"plan": True, "planner_data": planner.data} if planner is not None else {}


def is_planned(record: Mapping[str, Any]) -> bool:
    """Whether an evaluation was one with chains of questions; it is never mixed with others."""
    return bool(record.get("plan", False))


def load(run: str | Path, step: int | None = None) -> TrainedPolicy:
    """Load a trained policy.

    Args:
        run: A run directory, or "demo", the model that comes with goalsets.
        step: A step whose weights were kept; the latest checkpoint unless given.
    """
    return Run.open(run).load(step)[0]


def shipped_models() -> list[str]:
    """The names of the models that come with goalsets."""
    return sorted(config.parent.name for config in MODELS.glob(f"*/{CONFIG}"))


def _directory(path: Path) -> Path:
    """The run directory that somebody named."""
    if (path / CONFIG).exists():
        return path
    names = shipped_models()
    if str(path) in names:
        return MODELS / path
    also = f" The models that come with goalsets: {', '.join(names)}." if names else ""
    raise RunError(f"{path} is no run directory: it has no {CONFIG}.{_near(path) or also}")


def _near(path: Path) -> str:
    """Point to the runs inside a directory that somebody took for one."""
    found = sorted(str(p.parent) for p in path.glob("**/" + CONFIG))[:3] if path.is_dir() else []
    return f" There are runs inside it: {', '.join(found)}." if found else ""
