"""Seeds that are trained together end as if they were trained apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import goalsets
from goalsets import GoalsetsError
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.learners import LEARNERS
from goalsets.relabel.queries import DEFAULT_SCHEME
from goalsets.runs.config import TrainConfig
from goalsets.runs.presets import resolve
from goalsets.runs.run import Run
from goalsets.runs.weights import CHECKPOINT
from goalsets.train.log import CsvLog
from goalsets.train.loop import DivergedError, StoppedError
from goalsets.train.session import Pace, prepare, train
from goalsets.train.together import Stack, train_together

TASK = "tabletop-single-v0"
PACE = Pace(log_every=5, checkpoint_every=5, keep_every=10)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("data") / TASK
    episodes = list(record_play(30, 60, seed=2).episodes())
    write_store(path, episodes[:27], episodes[27:], layout=tabletop_layout(1), source="play")
    return Store.open(path)


def configs(
    learner: str = "gcbc", seeds: int = 3, scheme: str = DEFAULT_SCHEME, **changes: object
) -> list[TrainConfig]:
    overrides = {"steps": 20, "batch_size": 64, "hidden": 32, **changes}
    return [
        resolve(TASK, learner=learner, scheme=scheme, seed=seed, overrides=overrides)
        for seed in range(seeds)
    ]


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("scheme", ["her-full", "gs-blockwise", "gs-direct"])
def test_gradients_are_the_same(learner: str, scheme: str, store: Store, tmp_path: Path) -> None:
    """One step, before the optimiser can make much of little."""
    asked = configs(learner, scheme=scheme)

    def trainers(place: str) -> list:
        return [
            prepare(c, store, tmp_path / place / str(c.seed), pace=PACE, resume=True)[1]
            for c in asked
        ]

    alone, together = trainers("alone"), trainers("together")
    apart = [trainer.step() for trainer in alone]
    stacked = Stack(together).step()
    for one, other, left, right in zip(alone, together, apart, stacked, strict=True):
        assert left.keys() == right.keys()
        for name in left:
            torch.testing.assert_close(left[name], right[name], rtol=1e-4, atol=1e-5)
        pairs = zip(one.learner.named_parameters(), other.learner.parameters(), strict=True)
        for (name, a), b in pairs:
            assert (a.grad is None) == (b.grad is None), name
            if a.grad is not None:
                torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-6)
            # The first step of Adam has the size of the learning rate, 2e-3, for all gradients.
            torch.testing.assert_close(a, b, rtol=0, atol=1e-4)


@pytest.mark.full
@pytest.mark.parametrize("learner", LEARNERS)
def test_runs_are_the_same(learner: str, store: Store, tmp_path: Path) -> None:
    asked = configs(learner)
    places = [tmp_path / "together" / str(c.seed) for c in asked]
    runs = train_together(asked, store, places, pace=PACE)
    states = store.validation.observations[:50]
    for config, run in zip(asked, runs, strict=True):
        alone = train(config, store, tmp_path / "alone" / str(config.seed), pace=PACE)
        assert isinstance(run, Run)
        assert run.config == config
        assert run.steps == alone.steps == [10, 20]
        rows = [(r.path / "metrics.csv").read_text().splitlines() for r in (run, alone)]
        assert [line.split(",")[0] for line in rows[0]] == [line.split(",")[0] for line in rows[1]]
        actions = [goalsets.load(r.path).act(states, states[0], "cube_pos") for r in (run, alone)]
        np.testing.assert_allclose(actions[0], actions[1], atol=1e-4)


def test_seeds_differ(store: Store, tmp_path: Path) -> None:
    runs = train_together(configs(), store, [tmp_path / str(i) for i in range(3)], pace=PACE)
    states = store.validation.observations[:5]
    actions = [goalsets.load(run.path).act(states, states[0], "cube_pos") for run in runs]
    assert not np.allclose(actions[0], actions[1], atol=1e-2)


def test_a_stop_leaves_checkpoints_and_all_go_on(store: Store, tmp_path: Path) -> None:
    asked, pace = configs(), Pace(5, 1_000, 10)
    places, others = ([tmp_path / name / str(i) for i in range(3)] for name in ("a", "b"))
    train_together(asked, store, others, pace=pace)
    with pytest.raises(StoppedError, match="stopped at step 7"):
        train_together(asked, store, places, pace=pace, stop=lambda _, step: step == 7)
    # One of them got further before a kill: the others catch up.
    train(asked[1], store, places[1], resume=True, pace=pace)
    train_together(asked, store, places, pace=pace)
    for place, other in zip(places, others, strict=True):
        ours, theirs = load_file(place / CHECKPOINT), load_file(other / CHECKPOINT)
        for name in ours:
            torch.testing.assert_close(ours[name], theirs[name], rtol=1e-3, atol=1e-4)


def test_one_that_diverges_leaves_the_others(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from goalsets.train.loop import Trainer

    check = Trainer._check

    def diverge(self: Trainer, metrics: dict[str, float]) -> None:
        spoilt = {**metrics, "loss": float("nan")} if self.config.seed == 1 else metrics
        check(self, spoilt)

    closed: list[Path] = []
    monkeypatch.setattr(Trainer, "_check", diverge)
    monkeypatch.setattr(CsvLog, "close", lambda log: closed.append(log._path.parent))
    places = [tmp_path / str(i) for i in range(3)]
    first, second, third = train_together(configs(), store, places, pace=PACE)
    assert isinstance(second, DivergedError)
    assert first.steps == third.steps == [10, 20]
    assert sorted(closed) == places


def test_what_cannot_be_stacked_is_refused(store: Store, tmp_path: Path) -> None:
    places = [tmp_path / str(i) for i in range(3)]
    with pytest.raises(GoalsetsError, match="with fill 'random'"):
        train_together(configs(fill="random"), store, places)
    with pytest.raises(GoalsetsError, match="differ only in their seed"):
        train_together([*configs(seeds=2), configs(steps=5)[2]], store, places)
