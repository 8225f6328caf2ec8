"""Training with labels by arrival and direct goals, from a store and without one."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from goalsets import GoalsetsError
from goalsets.data.drawing import DataSource
from goalsets.data.store import DERIVED, Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.learners import LEARNERS
from goalsets.relabel.batch import VALUE, BatchSpec
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run
from goalsets.runs.weights import CHECKPOINT
from goalsets.train.build import draw_held_out, make_arrivals, make_sampler
from goalsets.train.frame import make_frame
from goalsets.train.log import HELD_OUT, METRICS
from goalsets.train.session import Pace, train
from goalsets.train.together import train_together

TASK = "tabletop-single-v0"
PACE = Pace(log_every=2)
FACTS = {"relabel/answered", "relabel/far", "relabel/undirected"}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    episodes = list(record_play(20, 60, seed=2).episodes())
    path = tmp_path / "data"
    return write_store(path, episodes[:17], episodes[17:], layout=tabletop_layout(1))


def small(**changes: object) -> TrainConfig:
    fields = {"task": TASK, "steps": 6, "batch_size": 64, "hidden": 32, **changes}
    return TrainConfig(**fields)


def metrics(run: Run) -> list[dict[str, str]]:
    with (run.path / METRICS).open() as file:
        return list(csv.DictReader(file))


def weights(run: Run) -> dict[str, torch.Tensor]:
    return load_file(run.path / CHECKPOINT)


def test_facts_are_recorded_with_the_metrics(store: Store, tmp_path: Path) -> None:
    said: list[str] = []
    config = small(direct=5, scheme="gs-semantic")
    run = train(config, store, tmp_path / "run", pace=PACE, say=said.append)
    for row in metrics(run):
        for name in (*FACTS, *(HELD_OUT + fact for fact in FACTS)):
            assert 0 <= float(row[name]) < 1
    # Held-out goals are drawn once; those that are trained on with every step.
    assert len({row[HELD_OUT + "relabel/answered"] for row in metrics(run)}) == 1
    assert len({row["relabel/answered"] for row in metrics(run)}) > 1
    plain = train(small(), store, tmp_path / "plain", pace=PACE)
    assert not FACTS & metrics(plain)[0].keys()
    assert said == [], "this takes no time"


def test_tables_are_kept_beside_the_store(store: Store, tmp_path: Path) -> None:
    """Whole groups need one table a split; the next run finds it, and so ends with its weights."""
    config = small(labels="arrival", scheme="gs-semantic", learner="gcivl")
    first = train(config, store, tmp_path / "first")
    names = sorted(path.name for path in store.path.glob(f"{DERIVED}*"))
    assert [name.rsplit("-", 1)[0] for name in names] == [
        "derived-arrivals-train-groups",
        "derived-arrivals-validation-groups",
    ]
    second = train(config, store, tmp_path / "second", data_in="disk")
    for name, value in weights(first).items():
        assert torch.equal(value, weights(second)[name])
    assert names == sorted(path.name for path in store.path.glob(f"{DERIVED}*"))


def test_together_as_alone(store: Store, tmp_path: Path) -> None:
    configs = [small(labels="arrival", direct=5, learner="gcivl", seed=s) for s in range(2)]
    runs = train_together(configs, store, [tmp_path / str(c.seed) for c in configs], pace=PACE)
    for config, run in zip(configs, runs, strict=True):
        assert isinstance(run, Run)
        alone = train(config, store, tmp_path / f"alone{config.seed}", pace=PACE)
        for ours, theirs in zip(metrics(run), metrics(alone), strict=True):
            for fact in FACTS:
                assert ours[fact] == theirs[fact]


@pytest.mark.parametrize("learner", LEARNERS)
def test_labels_and_floor_are_about_the_same_moment(learner: str, store: Store) -> None:
    config = small(labels="arrival", learner=learner)
    frame = make_frame(config, store)
    batch = draw_held_out(config, frame, store.validation, 500)
    assert batch is not None
    for goals in batch.goals.values():
        if goals.labels is not None:
            assert goals.at_goal[goals.steps == 0].all()
            assert not goals.at_goal[goals.steps == 1].any()
            assert goals.next_at_goal[goals.steps == 1].all()


def test_direct_goals_leave_other_labels_and_their_floor_alone(store: Store) -> None:
    """By identity, a goal is reached when it is reached, whatever held before."""
    frame = make_frame(small(), store)
    plain, directed = (
        draw_held_out(small(labels="identity", learner="gcivl", direct=d), frame, store.validation)
        for d in (None, 5)
    )
    for field in ("references", "masks", "steps"):
        np.testing.assert_array_equal(
            getattr(plain.goals[VALUE], field), getattr(directed.goals[VALUE], field)
        )


def test_rows_are_those_of_the_split(store: Store) -> None:
    """Arrivals of the validation episodes count rows as their sampler does."""
    config = small(labels="arrival", direct=5, learner="gcivl")
    frame = make_frame(config, store)
    arrivals = make_arrivals(config, frame, store)
    ours = draw_held_out(config, frame, store.validation, arrivals=arrivals.validation)
    apart = draw_held_out(config, frame, store.validation)
    for mine, theirs in zip(ours.arrays(), apart.arrays(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert arrivals.train.groups.shape == (store.train.num_states, 8)


def test_what_cannot_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = make_frame(small(), store)
    source = DataSource(store.train, frame.normaliser)
    with pytest.raises(GoalsetsError, match="need the arrivals of the data"):
        make_sampler(small(direct=5), frame, source)
    spec = BatchSpec({"mine": BatchSpec().goals["actor"]})
    monkeypatch.setattr(LEARNERS["gcbc"], "batch_spec", lambda _: spec)
    with pytest.raises(GoalsetsError, match="needs goals named 'actor', but gcbc has only: mine"):
        make_sampler(small(direct=5), frame, store.train)


def test_older_configurations_have_no_such_field() -> None:
    text = small().to_json()
    assert '  "direct": null,\n' in text
    assert TrainConfig.from_json(text.replace('  "direct": null,\n', "")) == small()
