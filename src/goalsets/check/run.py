"""Check a run: measure every question on the run's own data."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from goalsets.check.behaviour import look_at_behaviour
from goalsets.check.distance import look_at_distances
from goalsets.check.found import Check, Checked
from goalsets.check.imitation import Imitator, Still, what_still_is
from goalsets.check.locks import blocked
from goalsets.check.near import nearest, situations
from goalsets.check.questions import Question, every_question
from goalsets.check.relabeled import Asked, Relabeler
from goalsets.check.support import Reach, Supporter
from goalsets.check.verdict import Finding, Thresholds, judge
from goalsets.core import GoalsetsError, StateLayout
from goalsets.core.acting import Policy
from goalsets.data.store import Store
from goalsets.data.tolerances import UsualTolerances
from goalsets.data.trajectories import Trajectories
from goalsets.evaluate.ask import doubts_of_hearing
from goalsets.relabel.units import Rule
from goalsets.runs.run import Run
from goalsets.workers import silence

Floats = NDArray[np.float32]

MOST_STATES = 500_000
"""Training states to count, in episodes spread evenly over all."""
_MOST_RELABELED = 150_000
"""States of each split to relabel, in episodes spread evenly over all."""
ROWS = 200
"""Held-out rows of each horizon at which the policy is asked."""
GOALS = 24
"""Goals for each question."""
_KNOWN = 8_000
"""Relabeled training rows of each horizon among which neighbours are searched."""
_NEIGHBOURS = 20
"""Neighbours whose mean action is the look-up baseline."""
_PAIRS = 300
"""Situations, each a held-out state with a goal of another episode, to measure `reach` on."""


def check_run(  # noqa: PLR0913 - the flags of a command
    run: Run,
    store: Store,
    questions: Sequence[Question] | None = None,
    *,
    pairs: bool = True,
    step: int | None = None,
    rate: float | None = None,
    thresholds: Thresholds | None = None,
    seed: int = 0,
    watch: Callable[[int, int], None] = silence,
) -> Check:
    """Check a run without a simulator.

    Args:
        run: The run.
        store: Its data.
        questions: The questions; by default all single groups and pairs of the layout.
        pairs: Whether to include pairs if no questions are given.
        step: A step whose weights were kept; the latest checkpoint unless given.
        rate: Control steps a second; by default the rate in the store.
        thresholds: The thresholds of the verdicts.
        seed: The seed of the draws of rows and goals.
        watch: Called with the number of questions done, and of all.
    """
    policy, progress = run.load(step)
    rate = store.rate if rate is None else rate
    found = _Checker(run, store, policy, rate, thresholds or Thresholds(), seed)
    if questions is None:
        questions = every_question(
            run.frame.layout,
            UsualTolerances.of(store.train),
            pairs=pairs,
            leave_out=found.unchanging(),
        )
    begin = time.perf_counter()
    checked: list[Checked] = []
    for number, question in enumerate(questions):
        checked.append(found.check(question))
        watch(number + 1, len(questions))
    return found.report(progress.step, checked, time.perf_counter() - begin)


class _Checker:
    """Checks the questions of one run, one after another."""

    def __init__(
        self,
        run: Run,
        store: Store,
        policy: Policy,
        rate: float | None,
        thresholds: Thresholds,
        seed: int,
    ) -> None:
        self._run, self._store, self._policy = run, store, policy
        self._rate, self._thresholds, self._seed = rate, thresholds, seed
        frame = run.frame
        _check_fits(store, frame.layout)
        self._notes = _notes(run, store)
        self._held_out = store.validation.num_transitions > 0
        data = spread(store.validation if self._held_out else store.train, _MOST_RELABELED)
        self._train = spread(store.train, _MOST_RELABELED)
        settled = run.config.settled
        self._asking, self._knowing = Relabeler(data, settled), Relabeler(self._train, settled)
        rule = Rule(frame.layout, frame.normaliser.state_std)
        counted, every = spread(store.train, MOST_STATES), _every(store.train, MOST_STATES)
        self._counted = counted.num_states
        self._supporter = Supporter(counted, every, rule, run.config.direct or frame.horizon)
        self._still: Still = what_still_is(self._train, frame.normaliser, self._rng())
        self._imitator = Imitator(policy, self._asking, frame.normaliser, frame.bounds, self._still)

    def _rng(self) -> np.random.Generator:
        """A new generator for each question, so that its result does not depend on the others."""
        return np.random.default_rng(self._seed)

    def unchanging(self) -> list[str]:
        """Groups whose coordinates never change."""
        data = self._train.observations
        still = np.ptp(data, axis=0) == 0
        return [g.name for g in self._run.frame.layout.groups if still[list(g.indices)].all()]

    def check(self, question: Question) -> Checked:
        """Check one question."""
        rng, data, frame = self._rng(), self._asking.data, self._run.frame
        asked = self._asking.draw(question, ROWS, rng)
        known = self._knowing.draw(question, _KNOWN, rng)
        goals = self._goals(question, asked, rng)
        reach, neighbours = self._near(question, asked, known, goals, rng)
        support = self._supporter.look(question, goals[:GOALS], reach)
        imitation = distances = behaviour = None
        if len(asked):
            imitation = self._imitator.compare(question, asked, neighbours, rng)
            distances = look_at_distances(self._policy, question, data, asked)
            behaviour = look_at_behaviour(
                self._policy,
                question,
                data,
                asked,
                frame.normaliser,
                frame.bounds,
                rng,
                rate=self._rate,
            )
        verdict = judge(
            support,
            imitation,
            distances,
            behaviour,
            self._hearing(question),
            self._thresholds,
            held_out=self._held_out,
        )
        return Checked(
            question.name,
            str(question.query),
            question.note,
            len(asked),
            support,
            imitation,
            distances,
            behaviour,
            verdict,
        )

    def _goals(self, question: Question, asked: Asked, rng: np.random.Generator) -> Floats:
        """The goals to ask with: the question's own, or some that held-out episodes went to."""
        if question.goals is not None:
            return question.goals
        data = self._asking.data
        rows = np.unique(asked.goals)
        if not len(rows):
            rows = np.arange(data.num_states)
            if question.where is not None:
                rows = rows[question.where.holds(data.observations)]
        return data.states(rng.permutation(rows))

    def _near(
        self,
        question: Question,
        asked: Asked,
        known: Asked,
        goals: Floats,
        rng: np.random.Generator,
    ) -> tuple[Reach | None, Floats]:
        """Reach, and the actions of the nearest neighbours `[N, K, A]`."""
        normaliser, data = self._run.frame.normaliser, self._asking.data
        if not len(known) or not len(asked):
            return None, np.tile(normaliser.action_mean, (len(asked), 1, 1))
        train = self._train

        def see(states: Floats, references: Floats) -> Floats:
            return situations(question, normaliser, states, references)

        seen = see(train.states(known.rows), train.states(known.goals))
        places, usual = nearest(
            seen, see(data.states(asked.rows), data.states(asked.goals)), _NEIGHBOURS
        )
        starts = data.states(data.draw_states(_PAIRS, rng))
        wanted = goals[rng.integers(0, len(goals), _PAIRS)]
        is_open = ~question.goal_set(wanted).contains(starts)
        starts, wanted = starts[is_open], wanted[is_open]
        _, apart = nearest(seen, see(starts, wanted))
        before = train.states(known.within(self._knowing.horizons[1]).rows)
        locked, by = blocked(question, before, starts)
        return Reach.of(usual, apart, locked, by), train.actions[known.rows[places]]

    def _hearing(self, question: Question) -> Finding | None:
        """A finding if the policy cannot hear this question and gets another one instead."""
        shown, wanted = self._policy.hears(question.query), question.query.mask
        reasons = doubts_of_hearing(question.query, self._policy)
        if not reasons:
            return None
        return "no-go" if (wanted & ~shown).any() else "caution", reasons[0].rstrip(".")

    def report(self, step: int, checked: Sequence[Checked], seconds: float) -> Check:
        """The result of the check."""
        run, store = self._run, self._store
        return Check(
            run=str(run.path),
            task=run.config.task,
            learner=run.config.learner,
            scheme=run.config.scheme,
            step=step,
            data=store.source,
            train_episodes=store.train.num_episodes,
            train_states=self._counted,
            held_out_episodes=store.validation.num_episodes,
            held_out=self._held_out,
            still=self._still,
            rate=self._rate,
            actions=tuple(f"action {i}" for i in range(self._train.actions.shape[1])),
            notes=self._notes,
            thresholds=self._thresholds,
            seconds=seconds,
            questions=tuple(checked),
        )


def spread(data: Trajectories, most: int) -> Trajectories:
    """Copy evenly spread episodes into memory, with about `most` states at most."""
    every = _every(data, most)
    chosen = [data.episode(index) for index in range(0, data.num_episodes, every)]
    return Trajectories.from_episodes([dataclasses.replace(e, extras={}) for e in chosen])


def _every(data: Trajectories, most: int) -> int:
    return max(1, -(-data.num_states // most))


def _check_fits(store: Store, layout: StateLayout) -> None:
    dim = store.trajectories.observations.shape[1]
    if dim != layout.dim:
        raise GoalsetsError(
            f"{store.path} has states of {dim} coordinates, but the policy takes {layout.dim}. "
            "Name the store of its training data with --data."
        )
    if store.train.num_transitions == 0:
        raise GoalsetsError(f"{store.path} has no training episodes to compare with.")


def _notes(run: Run, store: Store) -> tuple[str, ...]:
    if store.fingerprint == run.data["fingerprint"]:
        return ()
    return (
        f"The run was not trained on this data (fingerprint {store.fingerprint[:8]}) but on "
        f"{run.data['fingerprint'][:8]}: held-out episodes may have been trained on.",
    )
