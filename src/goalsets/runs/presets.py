"""Presets: named sets of hyperparameters.

`paper` is what the paper describes. `released` is what its released code does. `ogbench` has the
budget of the benchmark's own learners. `cpu` is best for minutes on two cores; the measurements in
docs/learners chose it. `hour` is best for an hour on two cores: see docs/direct.md. `small` is for
worlds that small networks learn in less than a minute. Values for a single learner are in its file,
and values that were measured on a single task are in the task's `tuned`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from goalsets.core import GoalsetsError, Registry
from goalsets.envs.tasks import TASKS
from goalsets.learners import DEFAULT, LEARNERS
from goalsets.relabel.queries import DEFAULT_SCHEME, SCHEMES
from goalsets.runs.config import TrainConfig

Fields = dict[str, Any]
"""Fields of `TrainConfig`."""

DIRECT = "direct"
"""The name under which a learner declares its settings for direct hindsight, for any preset."""
DIRECT_NOISY = "direct-noisy"
"""The name of its settings for direct hindsight on noisy data."""
HOUR = "hour"
"""The preset that uses direct hindsight with every scheme."""
_NOISY = "noisy"
"""The kind of data on which the presets of learners were chosen."""

PRESETS: Registry[Callable[[str, str], Fields]] = Registry("preset")


def paper_alpha(task: str, learner: str) -> Fields:
    """The paper's α as a learner's setting; empty for tasks and learners without one."""
    alphas, kind = LEARNERS[learner].paper_alpha, _data_kind(task)
    return {"alpha": alphas[kind]} if kind is not None and kind in alphas else {}


def _data_kind(task: str) -> str | None:
    """The kind of a task's data; None for a user's own data."""
    return TASKS[task].data_kind if task in TASKS else None


def _own(preset: str, learner: str) -> Fields:
    """The fields that a learner declares for a preset."""
    return dict(LEARNERS[learner].presets.get(preset, {}))


def _scaled_alpha(task: str, learner: str, chosen: float) -> float:
    """Scale an α that was chosen on noisy data to other data, as the paper scales its own.

    The noisier the data, the less a policy should imitate it. The factor is at most ten: in a short
    run, the paper's factor of thirty made GCIQL on play data mostly imitate (results/tried.csv).
    """
    paper = paper_alpha(task, learner)
    if not paper:
        return chosen
    ratio = paper["alpha"] / LEARNERS[learner].paper_alpha[_NOISY]
    return float(f"{chosen * min(max(ratio, 0.1), 10.0):.6g}")


@PRESETS.register("paper")
def paper(task: str, learner: str) -> Fields:
    """200,000 steps of 8192, predicate labels, no witness."""
    return {
        "steps": 200_000,
        "batch_size": 8192,
        "learning_rate": 8e-4,
        "settings": paper_alpha(task, learner),
    }


@PRESETS.register("released")
def released(task: str, learner: str) -> Fields:
    """The paper's budget, with the behaviour of its released code."""
    own = _own("released", learner).get("settings", {})
    return {
        **paper(task, learner),
        "labels": "identity",
        "clamp": "standardised",
        "settings": {**paper_alpha(task, learner), **own},
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


_MINUTES: Mapping[str, Any] = {"schedule": "cosine", "labels": "identity", "clip_apart": True}
"""The fields of all short runs: a falling learning rate, and gradients clipped by network."""


@PRESETS.register("cpu")
def cpu(task: str, learner: str) -> Fields:
    """A few thousand steps, a falling learning rate, and values that start pessimistic."""
    usual = {"steps": 4_000, "batch_size": 512}
    return _suited(task, learner, {**_MINUTES, **(_own("cpu", learner) or usual)})


@PRESETS.register(HOUR)
def hour(task: str, learner: str) -> Fields:
    """More steps, computed in bfloat16, and direct hindsight with every scheme."""
    fields = {**_MINUTES, **_own("cpu", learner), "steps": 12_000, **_own(HOUR, learner)}
    return {**_suited(task, learner, fields), "precision": "bfloat16"}


def _suited(task: str, learner: str, fields: Fields) -> Fields:
    """Adapt fields that were chosen on noisy data to the data of a task."""
    fields = dict(fields)
    if _data_kind(task) != _NOISY:
        # A strong weight decay prevents overfitting to noise, but makes a policy less precise.
        fields.pop("weight_decay", None)
    settings = fields.get("settings", {})
    if "alpha" in settings:
        scaled = _scaled_alpha(task, learner, settings["alpha"])
        fields["settings"] = {**settings, "alpha": scaled}
    return fields


@PRESETS.register("small")
def small(task: str, learner: str) -> Fields:
    """Small networks for worlds that they learn in less than a minute."""
    del task
    size = {"steps": 1_500, "batch_size": 512, "hidden": 128, "learning_rate": 2e-3}
    return {**_MINUTES, **size, **_own("small", learner)}


def direct_hindsight(task: str, horizon: int | None = None) -> Fields:
    """The fields that direct hindsight adds to any preset: see docs/direct.md.

    Args:
        task: The task.
        horizon: For a user's own data: about the number of steps of a motion.
    """
    motion = TASKS[task].motion if task in TASKS else horizon
    fields: Fields = {"inputs": "focused", "labels": "arrival", "direct": motion}
    if _has_noisy_motions(task):
        # In noisy data, objects are moved by accident: a place that one only passes is not a goal.
        fields["settled"] = 4
    if task in TASKS and any(group.kind for group in TASKS[task].layout.groups):
        fields["direct_robot"] = _robot_window(motion)
    return fields


def _robot_window(window: int | None) -> int | None:
    """A hand reaches a place in a fraction of the time that it needs to move an object there."""
    return None if window is None else max(1, window // 4)


def _has_noisy_motions(task: str) -> bool:
    return _data_kind(task) == _NOISY and TASKS[task].motion is not None


def _direct_settings(task: str, learner: str) -> Fields:
    """A learner's settings for direct hindsight, including those for motions in noisy data."""
    own = dict(_own(DIRECT, learner).get("settings", {}))
    if _has_noisy_motions(task):
        own |= _own(DIRECT_NOISY, learner).get("settings", {})
    return own


def resolve(
    task: str,
    *,
    learner: str = DEFAULT,
    scheme: str = DEFAULT_SCHEME,
    preset: str = "cpu",
    seed: int = 0,
    overrides: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> TrainConfig:
    """Make a configuration.

    Args:
        task: The task's name.
        learner: The algorithm.
        scheme: How transitions are relabeled.
        preset: The preset of hyperparameters. A task may replace it by another that suits its
            size.
        seed: The seed of all random numbers.
        overrides: Fields of the configuration that replace those of the preset.
        settings: Settings of the learner that replace those of the preset.
    """
    LEARNERS[learner]
    known = TASKS[task].presets if task in TASKS else {}
    fields = PRESETS[known.get(preset, preset)](task, learner)
    if SCHEMES[scheme].direct or preset == HOUR:
        own = _direct_settings(task, learner)
        fields |= direct_hindsight(task, (overrides or {}).get("horizon"))
        fields = _with(fields, {"settings": own})
    fields = _with(fields, _tuned(task, preset, learner))
    if "direct" in (overrides or {}) and fields.get("direct_robot") is not None:
        fields["direct_robot"] = _robot_window((overrides or {})["direct"])
    fields = _with({**fields, **(overrides or {})}, {"settings": settings or {}})
    return TrainConfig(task=task, learner=learner, scheme=scheme, seed=seed, **fields)


def _tuned(task: str, preset: str, learner: str) -> Mapping[str, Any]:
    """The fields that measurements chose for a task; empty for a user's own data."""
    tuned = TASKS[task].tuned if task in TASKS else {}
    fields = tuned.get(preset, {}).get(learner, {})
    unknown = set(fields) - {field.name for field in dataclasses.fields(TrainConfig)}
    if unknown:
        raise GoalsetsError(
            f"the task {task} is tuned for {preset} and {learner} with fields that TrainConfig "
            f"does not have: {', '.join(sorted(unknown))}."
        )
    return fields


def _with(fields: Fields, more: Mapping[str, Any]) -> Fields:
    """Fields with some replaced; of the learner's settings, only those that are given."""
    settings = {**fields.get("settings", {}), **more.get("settings", {})}
    return {**fields, **more, "settings": settings}
