"""Presets: what they hold, and how the `cpu` preset suits a task's data."""

from __future__ import annotations

import pytest

from goalsets.core import GoalsetsError
from goalsets.learners import LEARNERS
from goalsets.runs.config import TrainConfig
from goalsets.runs.presets import PRESETS, resolve

TASK = "tabletop-single-v0"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_preset_fits_every_learner(preset: str, learner: str) -> None:
    config = resolve("cube-single-noisy-v0", learner=learner, preset=preset)
    assert TrainConfig.from_json(config.to_json()) == config
    config.learner_config()


def test_presets_have_the_published_numbers() -> None:
    paper = resolve("pointmaze-large-navigate-v0", learner="gciql", preset="paper")
    assert (paper.batch_size, paper.steps, paper.learning_rate) == (8192, 200_000, 8e-4)
    assert paper.settings == {"alpha": 0.003}
    assert paper.labels == "predicate"
    released = resolve("cube-double-play-v0", learner="gcdl", preset="released")
    assert released.settings == {
        "alpha": 1.0,
        "witness": True,
        "loss": "huber",
        "bootstrapped_goal": True,
    }
    assert (released.labels, released.clamp) == ("identity", "standardised")
    assert resolve("cube-single-play-v0", learner="crl", preset="paper").settings == {"alpha": 3.0}
    assert resolve("antmaze-medium-navigate-v0", learner="crl").settings["alpha"] > 0
    assert resolve("scene-play-v0", preset="ogbench").steps == 1_000_000


@pytest.mark.parametrize(
    ("task", "learner", "alpha"),
    [
        ("cube-single-noisy-v0", "gciql", 0.3),
        ("cube-single-play-v0", "gciql", 3.0),
        ("pointmaze-medium-navigate-v0", "gciql", 0.03),
        ("pointmaze-large-navigate-v0", "crl", 0.3),
        ("antmaze-medium-navigate-v0", "crl", 1.0),
        ("scene-play-v0", "crl", 10.0),
        ("cube-double-play-v0", "gcivl", 0.3),
        ("puzzle-3x3-play-v0", "gciql", 3.0),
        ("humanoidmaze-medium-navigate-v0", "gciql", 0.3),
    ],
)
def test_the_cpu_preset_imitates_clean_data_more(task: str, learner: str, alpha: float) -> None:
    assert resolve(task, learner=learner).settings["alpha"] == alpha


@pytest.mark.parametrize("learner", ["gcbc", "crl"])
def test_the_cpu_preset_holds_weights_back_where_data_is_noisy(learner: str) -> None:
    for task in ("cube-single-noisy-v0", "antmaze-medium-navigate-v0"):
        assert resolve(task, learner=learner).weight_decay == 0.5
    for task in ("cube-single-play-v0", "pointmaze-medium-navigate-v0", "puzzle-3x3-play-v0"):
        assert resolve(task, learner=learner).weight_decay == 0.01


def test_ones_own_choice_comes_last() -> None:
    config = resolve(
        TASK, learner="gcivl", overrides={"steps": 7}, settings={"alpha": 0.5, "discount": 0.9}
    )
    assert config.steps == 7
    assert config.settings["alpha"] == 0.5
    assert config.learner_config().discount == 0.9
    with pytest.raises(GoalsetsError, match="gcivl has no setting 'alhpa'"):
        resolve(TASK, learner="gcivl", settings={"alhpa": 1})
