"""Presets: sets of hyperparameters with a name.

`paper` is what the paper describes, `released` what its released code does, `ogbench` the budget of
the benchmark's own learners, `cpu` what serves best in minutes on two cores: it was chosen by the
measurements in docs/learners. `hour` is what serves best in an hour on two cores: see
docs/direct.md. `small` is for worlds that small networks learn in less than a
minute. What suits one learner stands in that learner's file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from goalsets.core import Registry
from goalsets.envs.tasks import TASKS
from goalsets.learners import DEFAULT, LEARNERS
from goalsets.relabel.queries import DEFAULT_SCHEME, SCHEMES
from goalsets.runs.config import TrainConfig

Fields = dict[str, Any]
"""Fields of `TrainConfig`."""

DIRECT = "direct"
"""The name under which a learner declares what suits it with direct hindsight, at any preset."""
DIRECT_NOISY = "direct-noisy"
"""The same, where the data is noisy."""
HOUR = "hour"
"""The preset that has direct hindsight with every scheme."""
_NOISY = "noisy"
"""The kind of data that the presets of learners were chosen on."""

PRESETS: Registry[Callable[[str, str], Fields]] = Registry("preset")


def paper_alpha(task: str, learner: str) -> Fields:
    """The paper's α as a learner's setting; nothing for tasks and learners that have none."""
    alphas, kind = LEARNERS[learner].paper_alpha, _data_kind(task)
    return {"alpha": alphas[kind]} if kind is not None and kind in alphas else {}


def _data_kind(task: str) -> str | None:
    """What the data of a task is like; None for data that is no task's."""
    return TASKS[task].data_kind if task in TASKS else None


def _own(preset: str, learner: str) -> Fields:
    """What a learner declares for a preset."""
    return dict(LEARNERS[learner].presets.get(preset, {}))


def _scaled_alpha(task: str, learner: str, chosen: float) -> float:
    """An α that was chosen on noisy data, scaled as the paper scales its own to other data.

    The noisier the data, the less a policy should imitate it. But no more than tenfold: in minutes,
    the paper's thirtyfold left GCIQL on play little but imitation (results/tried.csv).
    """
    paper = paper_alpha(task, learner)
    if not paper:
        return chosen
    ratio = paper["alpha"] / LEARNERS[learner].paper_alpha[_NOISY]
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
"""What serves all short trainings: a falling learning rate, and networks that are clipped apart."""


@PRESETS.register("cpu")
def cpu(task: str, learner: str) -> Fields:
    """A few thousand steps, a falling learning rate, and values that start pessimistic."""
    usual = {"steps": 4_000, "batch_size": 512}
    return _suited(task, learner, {**_MINUTES, **(_own("cpu", learner) or usual)})


@PRESETS.register(HOUR)
def hour(task: str, learner: str) -> Fields:
    """More steps, computed in bfloat16; and direct hindsight, whatever the scheme."""
    fields = {**_MINUTES, **_own("cpu", learner), "steps": 12_000, **_own(HOUR, learner)}
    return {**_suited(task, learner, fields), "precision": "bfloat16"}


def _suited(task: str, learner: str, fields: Fields) -> Fields:
    """Fields that were chosen on noisy data, as they suit the data of a task."""
    fields = dict(fields)
    if _data_kind(task) != _NOISY:
        # A strong decay keeps a policy from learning noise by heart, and from being precise.
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
    """What a scheme with direct hindsight adds to any preset: see docs/direct.md.

    Args:
        task: The task.
        horizon: For data that is no task's: about as many steps as a motion takes.
    """
    motion = TASKS[task].motion if task in TASKS else horizon
    # Noise turns and pushes things: what they only passed by was nobody's aim.
    settled = {"settled": 4} if _has_noisy_motions(task) else {}
    return {"inputs": "relational", "labels": "arrival", "direct": motion, **settled}


def _has_noisy_motions(task: str) -> bool:
    return _data_kind(task) == _NOISY and TASKS[task].motion is not None


def _direct_settings(task: str, learner: str) -> Fields:
    """A learner's settings with direct hindsight; it may have others for motions in noisy data."""
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
    """Put a configuration together.

    Args:
        task: The task's name.
        learner: The algorithm.
        scheme: How transitions are relabeled.
        preset: Where hyperparameters come from. A task may have another in its place that suits
            its size.
        seed: Decides everything random.
        overrides: Fields of the configuration in place of the preset's.
        settings: The learner's settings in place of the preset's.
    """
    LEARNERS[learner]
    known = TASKS[task].presets if task in TASKS else {}
    fields = PRESETS[known.get(preset, preset)](task, learner)
    if SCHEMES[scheme].direct or preset == HOUR:
        own = _direct_settings(task, learner)
        fields |= direct_hindsight(task, (overrides or {}).get("horizon"))
        fields["settings"] = {**fields.get("settings", {}), **own}
    fields = {**fields, **(overrides or {})}
    fields["settings"] = {**fields.get("settings", {}), **(settings or {})}
    return TrainConfig(task=task, learner=learner, scheme=scheme, seed=seed, **fields)
