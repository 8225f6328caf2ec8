"""The policies that are served: run directories with names, and their descriptions."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalsets.core import GoalsetsError, Query, StateLayout, layout_to_dict
from goalsets.core.errors import suggest
from goalsets.plan import Planner
from goalsets.policy import TrainedPolicy
from goalsets.runs.planning import kept_planner
from goalsets.runs.run import Run, is_planned
from goalsets.serve.errors import ServeError, invalid

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_QUERIES = 256
"""Parsed queries to remember for each model: clients repeat the same few."""


@dataclass(frozen=True)
class Model:
    """A policy with a name."""

    name: str
    run: Run
    policy: TrainedPolicy
    step: int
    seconds: float
    """The training step of its weights."""
    planner: Planner | None = None
    """Makes chains of questions; None if the run has no planner."""

    @property
    def layout(self) -> StateLayout:
        """The layout of its states."""
        return self.policy.layout

    def query(self, text: str) -> Query:
        """Parse a query; the last few are remembered."""
        return self._read_query(text)

    @functools.cached_property
    def _read_query(self) -> Any:  # noqa: ANN401 - functools names no type for what it returns
        layout = self.layout
        return functools.lru_cache(maxsize=_QUERIES)(lambda text: Query.parse(text, layout))

    def describe(self) -> dict[str, Any]:
        """Its public description, as plain data."""
        config, layout = self.run.config, self.layout
        named = {} if layout.task is None else {"task": layout.task}
        return {
            "name": self.name,
            "task": config.task,
            "learner": config.learner,
            "scheme": config.scheme,
            "step": self.step,
            "answers": self.policy.answers,
            "state_dim": layout.dim,
            "action_dim": len(self.run.frame.normaliser.action_mean),
            "horizon": self.run.frame.horizon,
            "distance": self.policy.distance_unit,
            "plans": self.planner is not None,
            "layout": layout_to_dict(layout),
            "vocabulary": list(layout.vocabulary),
            "questions": {**named, **layout.aliases},
            "card": self._card(),
        }

    def _card(self) -> dict[str, Any]:
        return {
            "seed": self.run.config.seed,
            "training_seconds": round(self.seconds, 2),
            "action_bounds": self.run.tell_bounds(),
            "rate": self.run.data.get("rate"),
            # No path of the data: it means nothing elsewhere, and may be private.
            "data": {
                key: self.run.data.get(key) for key in ("fingerprint", "episodes", "transitions")
            },
            "evaluations": [
                {
                    "kind": record.get("kind"),
                    "success": record["success"],
                    "episodes": record.get("num_episodes"),
                    **({"plan": True} if is_planned(record) else {}),
                }
                for record in self.run.evaluations()
                if record.get("step") == self.step and "success" in record
            ],
        }


class Models:
    """The models of a server, by name."""

    def __init__(self, models: Iterable[Model]) -> None:
        """Refuse an empty list, and two models with one name."""
        self._models: dict[str, Model] = {}
        for model in models:
            if model.name in self._models:
                raise GoalsetsError(
                    f"two models are called {model.name!r}: give one another name, as in "
                    f"other={model.run.path}."
                )
            self._models[model.name] = model
        if not self._models:
            raise GoalsetsError("there is nothing to serve: name at least one run directory.")
        # Descriptions do not change while the server runs.
        self.described = {name: model.describe() for name, model in self._models.items()}

    @property
    def names(self) -> list[str]:
        """In the order in which they were named."""
        return list(self._models)

    def __iter__(self) -> Iterator[Model]:
        """In the order in which they were named."""
        return iter(self._models.values())

    def find(self, name: str | None) -> Model:
        """The model with a name; without a name, the only model."""
        if name is None:
            if len(self._models) > 1:
                raise invalid(
                    f"say which model: this server has {', '.join(map(repr, self._models))}."
                )
            return next(iter(self._models.values()))
        if name not in self._models:
            raise ServeError(
                404, "unknown_model", f"unknown model {name[:64]!r}: {suggest(name, self._models)}"
            )
        return self._models[name]


def open_models(words: Iterable[str], step: int | None = None) -> Models:
    """Open run directories, each given as RUN or NAME=RUN; the default name is RUN's last part."""
    return Models(_open(word, step) for word in words)


def _open(word: str, step: int | None) -> Model:
    name, path = _split(word)
    if not _NAME.fullmatch(name):
        raise GoalsetsError(
            f"{name!r} cannot be the name of a model: expected up to 64 letters, digits, '_', '.' "
            f"and '-'. Give a name, as in robot={path}."
        )
    run = Run.open(path)
    policy, progress = run.load(step)
    return Model(name, run, policy, progress.step, progress.seconds, kept_planner(run))


def _split(word: str) -> tuple[str, str]:
    """Split NAME=RUN, unless it is a directory whose path has an equals sign."""
    if "=" in word and not Path(word).exists():
        name, _, path = word.partition("=")
        return name, path
    return Path(word).resolve().name if Path(word).exists() else Path(word).name, word
