"""Presets: what they hold, and how the `cpu` preset suits a task's data."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from goalsets.campaign.chains import BASELINES, BEYOND, GRIDS, PLACE
from goalsets.core import GoalsetsError
from goalsets.envs.tasks import TASKS
from goalsets.learners import LEARNERS
from goalsets.report.published import PROTOCOL, published_tasks
from goalsets.runs.config import TrainConfig
from goalsets.runs.presets import HOUR, PRESETS, resolve
from goalsets.sweep import read_sweep

TASK = "tabletop-single-v0"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_preset_fits_every_learner(preset: str, learner: str) -> None:
    config = resolve("cube-single-noisy-v0", learner=learner, preset=preset)
    assert TrainConfig.from_json(config.to_json()) == config
    config.learner_config()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("task", published_tasks())
def test_the_papers_budget_is_the_published_one(learner: str, task: str) -> None:
    paper, released = (resolve(task, learner=learner, preset=p) for p in ("paper", "released"))
    assert PROTOCOL.startswith(f"{paper.steps:,} steps × {paper.batch_size},")
    # The released code has the paper's budget and α, and differs in what it does with them.
    for name in ("steps", "batch_size", "learning_rate"):
        assert getattr(released, name) == getattr(paper, name)
    assert paper.settings.items() <= released.settings.items()
    assert released.labels != paper.labels
    ogbench = resolve(task, learner=learner, preset="ogbench")
    assert ogbench.settings == paper.settings


def alphas(learner: str, preset: str, tasks: Sequence[str]) -> list[float]:
    found = [resolve(task, learner=learner, preset=preset).settings.get("alpha") for task in tasks]
    return [alpha for alpha in found if alpha is not None]


NOISY, CLEAN = "cube-single-noisy-v0", "cube-single-play-v0"
OTHERS = ("pointmaze-large-navigate-v0", "antmaze-medium-navigate-v0", "scene-play-v0")


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_cpu_preset_suits_alpha_to_the_data_as_the_paper_does(learner: str) -> None:
    tasks = (NOISY, CLEAN, *OTHERS)
    ours, papers = (alphas(learner, preset, tasks) for preset in ("cpu", "paper"))
    for i, j in itertools.combinations(range(min(len(ours), len(papers))), 2):
        assert (ours[i] < ours[j]) == (papers[i] < papers[j]), (tasks[i], tasks[j])
        assert (ours[i] > ours[j]) == (papers[i] > papers[j]), (tasks[i], tasks[j])
    if ours:
        # In minutes, more than tenfold would leave little but imitation, or nothing of it.
        assert max(ours) <= 10 * ours[0]
        assert min(ours) >= ours[0] / 10


def test_the_cpu_preset_imitates_clean_data_more() -> None:
    """For learners that weigh imitation against a critic."""
    for learner in ("gciql", "crl"):
        noisy, clean = alphas(learner, "cpu", (NOISY, CLEAN))
        assert clean > noisy


def test_the_cpu_preset_holds_weights_back_where_data_is_noisy_only() -> None:
    def decays(task: str) -> list[float]:
        return [resolve(task, learner=learner).weight_decay for learner in LEARNERS]

    usual = TrainConfig(TASK).weight_decay
    assert max(decays(NOISY)) > usual
    assert decays("antmaze-medium-navigate-v0") == decays(NOISY)
    for task in (CLEAN, "pointmaze-medium-navigate-v0", "puzzle-3x3-play-v0"):
        assert set(decays(task)) == {usual}


def test_ones_own_choice_comes_last() -> None:
    config = resolve(
        TASK, learner="gcivl", overrides={"steps": 7}, settings={"alpha": 0.5, "discount": 0.9}
    )
    assert config.steps == 7
    assert config.settings["alpha"] == 0.5
    assert config.learner_config().discount == 0.9
    with pytest.raises(GoalsetsError, match="gcivl has no setting 'alhpa'"):
        resolve(TASK, learner="gcivl", settings={"alhpa": 1})


def test_a_scheme_with_direct_hindsight_brings_it_to_every_preset() -> None:
    for preset in PRESETS:
        told = resolve(CLEAN, scheme="gs-direct", preset=preset)
        assert (told.inputs, told.labels, told.direct) == ("focused", "arrival", 90)
        if preset == HOUR:
            continue  # it brings that to every scheme: see below
        plain = resolve(CLEAN, scheme="gs-semantic", preset=preset)
        assert (plain.inputs, plain.direct) == ("plain", None)
        assert plain.labels != "arrival"
    assert resolve("cube-double-play-v0", scheme="gs-direct").direct == 120
    # In a maze every step leads somewhere: there is no motion to wait for.
    assert resolve("pointmaze-medium-navigate-v0", scheme="gs-direct").direct is None
    # Of logs of one's own, the horizon says how long a motion takes.
    assert resolve("my/store", scheme="gs-direct", overrides={"horizon": 35}).direct == 35
    alone = {"inputs": "plain", "direct": None, "labels": "identity"}
    chosen = resolve(CLEAN, scheme="gs-direct", overrides=alone)
    assert (chosen.inputs, chosen.labels, chosen.direct) == ("plain", "identity", None)


def test_short_ways_count_for_more_where_data_is_noisy() -> None:
    noisy, clean = (resolve(t, learner="gcbc", scheme="gs-direct") for t in (NOISY, CLEAN))
    assert noisy.settings["discount"] < 1
    assert "discount" not in clean.settings
    assert noisy.settled > clean.settled == 0
    # In a maze there is no motion that noise would complete.
    ant = resolve("antmaze-medium-navigate-v0", learner="gcbc", scheme="gs-direct")
    assert (ant.settings, ant.settled) == (clean.settings, 0)


def test_questions_about_the_robot_alone_have_a_quarter_of_the_window() -> None:
    def windows(task: str, **overrides: int | None) -> tuple[int | None, int | None]:
        told = resolve(task, scheme="gs-direct", overrides=overrides)
        return told.direct, told.direct_robot

    assert windows("cube-double-play-v0") == (120, 30)
    assert windows("cube-double-play-v0", direct=20) == (20, 5)
    assert windows("cube-double-play-v0", direct=20, direct_robot=12) == (20, 12)
    assert windows("cube-double-play-v0", direct=None) == (None, None)
    assert windows("pointmaze-medium-navigate-v0") == (None, None)
    assert windows(NOISY) == (90, 22)
    # A log of one's own may not say what is an object.
    assert windows("my/store", horizon=35) == (35, None)


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_hour_has_direct_hindsight_with_every_scheme_and_more_steps(learner: str) -> None:
    ours = resolve("scene-play-v0", learner=learner, scheme="gs-direct", preset=HOUR)
    assert ours.precision == "bfloat16"
    assert ours.steps > resolve("scene-play-v0", learner=learner).steps
    for scheme in ("her-full", "her-task", "gs-blockwise"):
        # Schemes differ in what is asked, and in nothing else.
        other = resolve("scene-play-v0", learner=learner, scheme=scheme, preset=HOUR)
        assert dataclasses.replace(other, scheme="gs-direct") == ours


def test_a_task_replaces_fields_of_a_preset_for_a_learner() -> None:
    maze, scene = "pointmaze-large-navigate-v0", "scene-play-v0"
    tuned = resolve(maze, scheme="gs-direct", preset=HOUR)
    assert (tuned.steps, tuned.horizon, tuned.settings["discount"]) == (3_000, 50, 0.97)
    assert resolve(scene, preset=HOUR).direct_robot is None  # although direct hindsight has one
    assert resolve(scene, preset=HOUR, learner="gcdl").direct_robot is not None
    assert resolve(maze).steps != 3_000  # another preset
    asked = resolve(maze, preset=HOUR, overrides={"steps": 7}, settings={"discount": 1.0})
    assert (asked.steps, asked.horizon, asked.settings["discount"]) == (7, 50, 1.0)


def test_a_task_that_is_tuned_with_unknown_fields_is_refused(monkeypatch: Any) -> None:
    wrong = dataclasses.replace(TASKS[TASK], tuned={"small": {"gcbc": {"stepps": 3}}})
    monkeypatch.setitem(TASKS._entries, TASK, wrong)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(GoalsetsError, match=f"{TASK} is tuned .* does not have: stepps"):
        resolve(TASK, preset="small")
    assert resolve(TASK, preset="small", learner="gcdl").learner == "gcdl"


def test_our_grids_train_what_the_preset_gives() -> None:
    """So that a stranger who names the preset trains the policies of our tables."""
    for name in (*GRIDS, *BASELINES, *BEYOND):
        assert read_sweep(str(PLACE / f"{name}.yaml")).overrides == ({},), name
