"""Our contestant of `benchmarks.peers`: a run without a directory, from our own trainer."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.peers_entries import Entry
from benchmarks.peers_race import AT_ONCE, BY_CHAIN
from goalsets.core.acting import Policy
from goalsets.data.store import Store
from goalsets.plan import Planner, PlanningPolicy
from goalsets.policy import TrainedPolicy
from goalsets.relabel.arrivals import Arrivals
from goalsets.relabel.units import Rule
from goalsets.runs.build import make_learner
from goalsets.runs.frame import Frame
from goalsets.runs.planning import learn_planner
from goalsets.runs.presets import resolve
from goalsets.runs.weights import Moment
from goalsets.train.build import make_sampler
from goalsets.train.frame import make_frame
from goalsets.train.loop import Trainer
from goalsets.train.precision import check_precision


class Ours:
    """A learner of ours, asked at once and, if its entry says so, by a chain."""

    def __init__(self, entry: Entry, store: Store, seed: int) -> None:
        told = entry.settings
        self.config = resolve(
            entry.task,
            learner=entry.learner,
            scheme=told["scheme"],
            preset=told["preset"],
            seed=seed,
            overrides=told.get("overrides"),
        )
        check_precision(self.config.precision, "cpu")
        self._store, self._chain = store, bool(told.get("chain"))
        self._frame: Frame | None = None
        self._planner: Planner | None = None

    def prepare(self) -> None:
        """Make tables, planner and networks. Nothing that an earlier run kept is used."""
        store, config = self._store, self.config
        frame = self._frame = make_frame(config, store)
        rule = Rule(frame.layout, frame.normaliser.state_std, config.epsilon)
        arrivals = Arrivals(rule, store.train)
        if self._chain:
            self._planner = learn_planner(frame.layout, store)
        data = frame.normaliser.apply(store.train)
        sampler = make_sampler(config, frame, data, arrivals)
        self._trainer = Trainer(config, make_learner(config, frame), sampler)

    def step(self) -> bool:
        trainer = self._trainer
        if trainer.progress.step >= self.config.steps:
            return False
        trainer.learner.train()
        start = Moment.now()
        trainer.advance(trainer.step(), start, self.config.steps)
        return True

    def policies(self) -> Mapping[str, Policy]:
        frame = self._frame
        assert frame is not None
        once = TrainedPolicy(self._trainer.learner, frame.layout, frame.normaliser, frame.bounds)
        if self._planner is None:
            return {AT_ONCE: once}
        return {AT_ONCE: once, BY_CHAIN: PlanningPolicy(once, self._planner)}
