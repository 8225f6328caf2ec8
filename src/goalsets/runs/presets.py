"""Presets: sets of hyperparameters with a name, and the paper's tables of them.

`paper` is what the paper describes, `released` what its released code does, `ogbench` the budget of
the benchmark's own learners, and `cpu` what serves best in minutes on two cores: it was chosen by
the measurements in docs/learners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from goalsets.core import Registry
from goalsets.learners import LEARNERS
from goalsets.runs.config import TrainConfig

Fields = dict[str, Any]
"""Fields of `TrainConfig`."""

_ALPHA: Mapping[str, Mapping[str, float]] = {
    "gcdl": {"play": 1.0, "noisy": 1.0, "pointmaze": 1.0},
    "gcivl": {"play": 10.0, "noisy": 10.0, "pointmaze": 10.0},
    "gciql": {"play": 1.0, "noisy": 0.03, "pointmaze": 0.003},
    "crl": {"play": 3.0, "noisy": 0.1, "pointmaze": 0.03},
}
"""The paper's coefficient α of policy extraction."""

_COLUMNS = {"pointmaze": "pointmaze", "antmaze": "noisy", "play": "play", "noisy": "noisy"}
"""The column of that table for the words in a task's name: its data decides, or else its maze."""

PRESETS: Registry[Callable[[str, str], Fields]] = Registry("preset")


def paper_alpha(task: str, learner: str) -> Fields:
    """The paper's α as a learner's setting; nothing for tasks and learners that have none."""
    column, alphas = _column(task), _ALPHA.get(learner)
    return {"alpha": alphas[column]} if column and alphas else {}


def _column(task: str) -> str | None:
    """The column of the paper's table that a task belongs to, or would belong to."""
    return next((_COLUMNS[word] for word in task.split("-") if word in _COLUMNS), None)


def _scaled_alpha(task: str, learner: str, chosen: float) -> float:
    """An α that was chosen on noisy data, scaled as the paper scales its own to other data.

    The noisier the data, the less a policy should imitate it. But no more than tenfold: in minutes,
    the paper's thirtyfold left GCIQL on play little but imitation (results/tried.csv).
    """
    paper = paper_alpha(task, learner)
    if not paper:
        return chosen
    ratio = paper["alpha"] / _ALPHA[learner]["noisy"]
    return float(f"{chosen * min(max(ratio, 0.1), 10.0):.6g}")


@PRESETS.register("paper")
def paper(task: str, learner: str) -> Fields:
    """200,000 steps of 8192, predicate labels, no floor under targets."""
    return {
        "steps": 200_000,
        "batch_size": 8192,
        "learning_rate": 8e-4,
        "settings": paper_alpha(task, learner),
    }


@PRESETS.register("released")
def released(task: str, learner: str) -> Fields:
    """The paper's budget with the behaviour of its released code, where the two differ."""
    own: Mapping[str, Fields] = {
        "gcivl": {"witness": True},
        "gciql": {"witness": True},
        "gcdl": {"witness": True, "loss": "huber", "bootstrapped_goal": True},
        "crl": {"state_in_goal": True},
    }
    return {
        **paper(task, learner),
        "labels": "identity",
        "clamp": "standardised",
        "settings": {**paper_alpha(task, learner), **own.get(learner, {})},
    }


@PRESETS.register("ogbench")
def ogbench(task: str, learner: str) -> Fields:
    """A million steps of 1024 at the benchmark's learning rate."""
    return {
        **paper(task, learner),
        "steps": 1_000_000,
        "batch_size": 1024,
        "learning_rate": 3e-4,
    }


_CPU: Mapping[str, Fields] = {
    "gcbc": {"steps": 4_000, "batch_size": 1024, "learning_rate": 2e-3, "weight_decay": 0.5},
    "gcivl": {
        "steps": 2_500,
        "batch_size": 512,
        "learning_rate": 2e-3,
        "settings": {"initial_value": -60.0, "witness": True, "alpha": 0.3},
    },
    # One clip for all: while the critic is far off, its gradient keeps the policy waiting.
    "gciql": {
        "steps": 2_800,
        "batch_size": 512,
        "learning_rate": 1.2e-3,
        "clip_apart": False,
        "settings": {"initial_value": -60.0, "witness": True, "alpha": 0.3},
    },
    "gcdl": {
        "steps": 2_500,
        "batch_size": 512,
        "learning_rate": 2e-3,
        "settings": {"initial_value": -0.6, "witness": True, "alpha": 0.1},
    },
    "crl": {
        "steps": 2_000,
        "batch_size": 1024,
        "learning_rate": 2e-3,
        "weight_decay": 0.5,
        "settings": {"alpha": 1.0},
    },
}
"""Chosen on cube-single-noisy-v0; `cpu` suits α and weight decay to other data."""

_TABLETOP: Mapping[str, Fields] = {
    "gcivl": {"settings": {"initial_value": -30.0, "witness": True, "alpha": 0.3}},
    # These two have the dearest step: with batches of 512 a training takes a minute or more.
    "gciql": {
        "batch_size": 256,
        "settings": {"initial_value": -30.0, "witness": True, "alpha": 3.0},
    },
    "gcdl": {"settings": {"initial_value": -0.6, "witness": True, "alpha": 0.1}},
    "crl": {"batch_size": 256, "settings": {"alpha": 3.0}},
}
"""For the tabletop, which small networks learn in less than a minute."""


@PRESETS.register("cpu")
def cpu(task: str, learner: str) -> Fields:
    """A few thousand steps, a falling learning rate, and values that start pessimistic."""
    common = {"schedule": "cosine", "labels": "identity", "clip_apart": True}
    if task.startswith("tabletop"):
        small = {"steps": 1_500, "batch_size": 512, "hidden": 128, "learning_rate": 2e-3}
        return {**common, **small, **_TABLETOP.get(learner, {})}
    fields = {**common, **_CPU.get(learner, {"steps": 4_000, "batch_size": 512})}
    if _column(task) != "noisy":
        # A strong decay keeps a policy from learning noise by heart, and from being precise.
        fields.pop("weight_decay", None)
    settings = fields.get("settings", {})
    if "alpha" in settings:
        scaled = _scaled_alpha(task, learner, settings["alpha"])
        fields["settings"] = {**settings, "alpha": scaled}
    return fields


def resolve(
    task: str,
    *,
    learner: str = "gcbc",
    scheme: str = "gs-blockwise",
    preset: str = "cpu",
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> TrainConfig:
    """Put a configuration together.

    Args:
        task: The task's name.
        learner: The algorithm.
        scheme: How transitions are relabeled.
        preset: Where hyperparameters come from.
        seed: Decides everything random.
        overrides: Fields of the configuration in place of the preset's.
        settings: The learner's settings in place of the preset's.
    """
    LEARNERS[learner]
    fields = PRESETS[preset](task, learner)
    fields = {**fields, **(overrides or {})}
    fields["settings"] = {**fields.get("settings", {}), **(settings or {})}
    return TrainConfig(task=task, learner=learner, scheme=scheme, seed=seed, **fields)
