"""Training: a killed run that resumes ends with the very weights of one that was left alone."""

from __future__ import annotations

import csv
import os
import platform
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from goalsets import GoalsetsError
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.learners import LEARNERS
from goalsets.relabel.queries import SCHEMES
from goalsets.runs.build import make_learner
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame
from goalsets.runs.weights import CHECKPOINT, WeightsError
from goalsets.train.build import draw_bank, make_sampler
from goalsets.train.log import METRICS, CsvLog
from goalsets.train.loop import DivergedError, Trainer, keep_freed_memory
from goalsets.train.session import check_device


def make_trainer(config: TrainConfig, directory: Path | None, **settings: int) -> Trainer:
    raw = Trajectories.from_episodes(list(record_play(20, 50, seed=1).episodes()))
    normaliser = Normaliser.fit(raw)
    data = normaliser.apply(raw)
    frame = Frame(tabletop_layout(1), normaliser, 30, Bounds.plus_minus_one(5))
    learner = make_learner(config, frame, draw_bank(config, data))
    sampler = make_sampler(config, frame, data)
    trainer = Trainer(config, learner, sampler, directory, **settings)
    if directory is not None:
        trainer.logs = [CsvLog(directory, trainer.progress.step)]
    return trainer


def config(**changes: object) -> TrainConfig:
    fields = {"task": "tabletop-single-v0", "steps": 30, "batch_size": 64, **changes}
    return TrainConfig(**fields)


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in trainer.learner.state_dict().items()}


def assert_equal(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> None:
    assert left.keys() == right.keys()
    for name, value in left.items():
        assert torch.equal(value, right[name]), f"{name} differs"


ARRIVALS = {"labels": "arrival", "direct": 5}


@pytest.mark.parametrize(
    ("learner", "more"), [*((learner, {}) for learner in LEARNERS), ("gcivl", ARRIVALS)]
)
def test_resuming_is_exact(learner: str, more: dict[str, object], tmp_path: Path) -> None:
    run = config(learner=learner, schedule="cosine", fill="random", **more)
    alone = make_trainer(run, None)
    alone.run()
    first = make_trainer(run, tmp_path, checkpoint_every=10)
    first.run(until=17)  # stops with a checkpoint at 17
    second = make_trainer(run, tmp_path, checkpoint_every=10)
    assert second.progress.step == 17
    second.run()
    assert_equal(weights(alone), weights(second))


KILLED = """
import os, sys
from pathlib import Path
from tests.train.test_loop import config, make_trainer

def stop(step, metrics):
    print(step, flush=True)

make_trainer(config(learner="gciql", steps=4000), Path(sys.argv[1]),
             checkpoint_every=7, log_every=1).run(on_step=stop)
"""


def test_killed_run_resumes_exactly(tmp_path: Path) -> None:
    """SIGKILL between checkpoints; what came after the last one is done again, and only that."""
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    root = Path(__file__).parents[2]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)
    assert process.stdout is not None
    while int(process.stdout.readline()) < 25:
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    run = config(learner="gciql", steps=4000)
    resumed = make_trainer(run, tmp_path, log_every=1)
    step = resumed.progress.step
    assert step >= 21
    assert step % 7 == 0
    resumed.run(until=step + 10)
    alone = make_trainer(run, None)
    alone.run(until=step + 10)
    # The child ran with its own number of threads; the sums here are the same for any.
    assert_equal(weights(alone), weights(resumed))
    with (tmp_path / METRICS).open() as file:
        rows = [int(row["step"]) for row in csv.DictReader(file)]
    assert rows == list(range(1, step + 11)), "a row of metrics was lost or came twice"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_trains(scheme: str) -> None:
    trainer = make_trainer(config(scheme=scheme, steps=3), None, log_every=1)
    seen: list[float] = []
    trainer.run(on_step=lambda _, metrics: seen.append(metrics["loss"]))
    assert len(seen) == 3
    assert np.isfinite(seen).all()


def test_schemes_start_from_the_same_batches() -> None:
    """The goals drawn do not depend on the scheme."""
    batches = [
        make_trainer(config(scheme=scheme), None).sampler.sample(
            16, make_trainer(config(scheme=scheme), None).rng
        )
        for scheme in ("her-full", "gs-semantic")
    ]
    np.testing.assert_array_equal(batches[0].states, batches[1].states)


@pytest.mark.parametrize("fill", ["learned", "zero", "random"])
def test_every_fill_trains(fill: str) -> None:
    trainer = make_trainer(config(fill=fill, steps=2), None)
    before = weights(trainer)
    trainer.run()
    after = weights(trainer)
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    fills = {name for name in before if name.startswith("conditioner.")}
    assert all(value.isfinite().all() for value in after.values())
    assert changed >= {name for name, _ in trainer.learner.actor.named_parameters(prefix="actor")}
    assert changed & fills == (fills if fill == "learned" else set())


def test_learning_lowers_the_loss() -> None:
    trainer = make_trainer(config(steps=500), None, log_every=50)
    seen: list[float] = []
    trainer.run(on_step=lambda _, metrics: seen.append(metrics["actor/mse"]))
    assert seen[-1] < 0.8 * seen[0]


def test_divergence_is_explained(tmp_path: Path) -> None:
    trainer = make_trainer(config(steps=50), tmp_path, log_every=1, checkpoint_every=5)

    def poison(step: int, _: dict[str, float]) -> None:
        if step == 12:
            with torch.no_grad():
                next(trainer.learner.actor.parameters()).fill_(torch.nan)

    with pytest.raises(DivergedError) as caught:
        trainer.run(on_step=poison)
    message = str(caught.value)
    assert "gcbc diverged by step 13: actor/loss is nan" in message
    assert f"The last good checkpoint is {tmp_path / CHECKPOINT}" in message
    assert make_trainer(config(steps=50), tmp_path).progress.step == 10


def test_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    make_trainer(config(steps=2), tmp_path).run()
    path = tmp_path / CHECKPOINT
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(WeightsError, match="checkpoint.safetensors is damaged: its content in "):
        make_trainer(config(steps=2), tmp_path)


def test_checkpoint_of_another_learner_is_refused(tmp_path: Path) -> None:
    make_trainer(config(steps=2), tmp_path).run()
    with pytest.raises(WeightsError, match="does not fit this learner"):
        make_trainer(config(steps=2, learner="gcivl"), tmp_path)


def test_full_disk_keeps_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = make_trainer(config(steps=9), tmp_path, checkpoint_every=3)
    trainer.run(until=3)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WeightsError, match="No space left on device"):
        trainer.run()
    monkeypatch.undo()
    assert make_trainer(config(steps=9), tmp_path).progress.step == 3
    assert not list(tmp_path.glob("*.tmp"))


def test_configurations_round_trip_and_are_checked() -> None:
    run = config(learner="gciql", settings={"alpha": 0.3, "witness": True})
    assert TrainConfig.from_json(run.to_json()) == run
    for message, changes in {
        "unknown learner 'gcicl': did you mean 'gcivl' or 'gciql'": {"learner": "gcicl"},
        "unknown scheme 'gs-block'": {"scheme": "gs-block"},
        "gcbc has no setting 'alpha'; it has: discount": {"settings": {"alpha": 1}},
        "batch_size must be 1 or more, got 0": {"batch_size": 0},
        "learning_rate must be above 0, got -1": {"learning_rate": -1},
        "direct must be 1 step or more, got 0": {"direct": 0},
    }.items():
        with pytest.raises(GoalsetsError) as caught:
            config(**changes)
        assert message in str(caught.value)


def test_normaliser_by_hand() -> None:
    raw = Trajectories.from_episodes(list(record_play(3, 10, seed=0).episodes()))
    normaliser = Normaliser.fit(raw)
    actions = np.concatenate([e.actions for e in raw])
    np.testing.assert_allclose(normaliser.state_mean, raw.observations.mean(0), atol=1e-5)
    np.testing.assert_allclose(normaliser.action_mean, actions.mean(0), atol=1e-5)
    np.testing.assert_allclose(normaliser.action_std, actions.std(0), atol=1e-5)
    back = normaliser.raw_actions(normaliser.actions(actions))
    np.testing.assert_allclose(back, actions, atol=1e-5)
    standard = normaliser.apply(raw)
    np.testing.assert_allclose(standard.observations.std(0), 1.0, atol=1e-3)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("fill", ["learned", "random"])
def test_a_learner_leaves_no_tensor_behind_when_it_moves(learner: str, fill: str) -> None:
    """On the meta device only shapes are computed, and mixing it with the processor is an error."""
    trainer = make_trainer(config(learner=learner, fill=fill), None)
    batch = trainer.sampler.sample(16, trainer.rng).map(
        lambda array: torch.from_numpy(array).to("meta")
    )
    moved = trainer.learner.to("meta")
    loss, _ = moved.losses(batch)
    loss.backward()
    moved.after_step()
    assert loss.device.type == "meta"
    assert all(p.grad is not None for p in moved.parameters() if p.requires_grad)


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(GoalsetsError, match="cannot train on the device 'gpu9' here"):
        check_device("gpu9")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have other ways")
def test_memory_that_a_step_frees_is_there_for_the_next() -> None:
    def take_and_free() -> None:
        for _ in range(10):
            [torch.ones(1 << 19) for _ in range(20)]  # two megabytes each, as activations have

    keep_freed_memory()
    take_and_free()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    take_and_free()
    # Given back, the twenty would come again in ten thousand pages of each of ten rounds.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 5_000
