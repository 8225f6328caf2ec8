"""Relabeled batches for other trainers: NumPy arrays under OGBench's names.

    data = RelabeledData.from_store(store, queries="semantic", horizon=100)
    batch = data.sample(256)

`sample` replaces OGBench's `GCDataset.sample`. Each transition has a goal for values and a goal for
the actor, and each goal has its own query. Goals are packed, [q ⊙ g, q], so an agent that takes a
goal vector needs no change. `goal` packs a goal for acting.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, Query, StateLayout
from goalsets.core.inputs import InputReader
from goalsets.core.packing import pack_goal
from goalsets.data.bounds import Bounds
from goalsets.data.normaliser import Normaliser
from goalsets.data.trajectories import Trajectories
from goalsets.relabel.batch import ACTOR, VALUE, Batch, BatchSpec, Goals
from goalsets.relabel.goals import ACTOR_GOALS, VALUE_GOALS, GoalMixture
from goalsets.relabel.labels import Labels, PredicateLabels
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, QueryDistribution
from goalsets.relabel.sampler import Generators, Sampler

if TYPE_CHECKING:
    from goalsets.data.store import Store

Floats = NDArray[np.float32]
Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class RelabeledData:
    """A data set of relabeled batches.

    Batches have these keys: `observations` and `next_observations` `[B, D]`, `actions` `[B, A]`,
    `value_goals` and `actor_goals` `[B, 2 D]`, `rewards` and `masks` `[B]`. As in OGBench, `masks`
    is not about queries: it is 0 if the state is at its value goal, and 1 otherwise. The reward is
    0 at the goal, and −1 otherwise. With `subgoal_steps` there are also `high_actor_goals`,
    `high_actor_targets` and `low_actor_goals`, which OGBench's HIQL takes.
    """

    sampler: Sampler
    """Draws batches from standardised data."""
    normaliser: Normaliser
    """The normaliser of the data."""
    standardised: bool = False
    """Return standardised states and actions; otherwise in the environment's units."""
    packed: bool = True
    """Put queries into the goals. Otherwise goals are full states `[B, D]`, and the queries are in
    `value_queries` and `actor_queries` `bool[B, D]`."""
    padded: bool = False
    """Pad observations with zeros to the length of packed goals. OGBench's agents need this: their
    networks expect goals as long as observations."""
    negative: bool = True
    """Rewards of −1 and 0; otherwise 0 and 1."""
    bounds: Bounds | None = None
    """Bounds of actions, in the environment's units; None leaves a policy's actions unbounded."""
    rng: Generators = field(default_factory=lambda: Generators.from_seed(0))
    """The generators of all draws."""

    def __post_init__(self) -> None:
        """Check that the settings fit together."""
        if self.padded and not self.packed:
            raise GoalsetsError("padded=True needs packed=True: padding is for packed goals.")

    @classmethod
    def from_store(cls, store: Store, **settings: Any) -> RelabeledData:  # noqa: ANN401 - those below
        """Take the training episodes of a store, which needs a layout.

        Args:
            store: The store.
            settings: Those of `from_trajectories`.
        """
        if store.layout is None:
            raise GoalsetsError(
                f"{store.path} has no layout, and queries need one: import the data with --layout."
            )
        settings.setdefault("bounds", store.bounds)
        return cls.from_trajectories(store.train, store.layout, **settings)

    @classmethod
    def from_trajectories(  # noqa: PLR0913 - all but the first two have names
        cls,
        trajectories: Trajectories,
        layout: StateLayout,
        *,
        queries: str | QueryDistribution = "blockwise",
        horizon: int = 200,
        labels: Labels | None = None,
        value_goals: GoalMixture = VALUE_GOALS,
        actor_goals: GoalMixture = ACTOR_GOALS,
        subgoal_steps: int | None = None,
        bounds: Bounds | None = None,
        seed: int = 0,
        **form: bool,
    ) -> RelabeledData:
        """Take trajectories in memory.

        Args:
            trajectories: The data.
            layout: The layout of its states.
            queries: A query distribution, or its name.
            horizon: How many steps ahead a state may become a goal.
            labels: The rule that decides whether a state is at a goal; by default the paper's.
            value_goals: Which states become the goals of values; by default the paper's mixture.
                OGBench's CRL wants future states only, its QRL random ones only.
            actor_goals: Which states become the goals of actors.
            subgoal_steps: How far ahead the subgoals of a hierarchical agent are; None for others.
            bounds: Bounds of actions; by default the range in the data, slightly widened.
            seed: The seed of all draws.
            form: `standardised`, `packed`, `padded` and `negative`: see the attributes.
        """
        normaliser = Normaliser.fit(trajectories)
        sampler = Sampler(
            source=normaliser.apply(trajectories),
            layout=layout,
            queries=QUERY_DISTRIBUTIONS[queries]() if isinstance(queries, str) else queries,
            spec=BatchSpec(
                {VALUE: dataclasses.replace(value_goals, labels=True), ACTOR: actor_goals},
                later=() if subgoal_steps is None else (subgoal_steps,),
            ),
            horizon=horizon,
            labels=labels or PredicateLabels(),
        )
        bounds = bounds or Bounds.seen_in(trajectories)
        return cls(sampler, normaliser, bounds=bounds, rng=Generators.from_seed(seed), **form)

    def sample(self, batch_size: int, rng: Generators | None = None) -> Arrays:
        """Draw a batch, with its own generators unless others are given."""
        return self._arrays(self.sampler.sample(batch_size, rng or self.rng))

    # --- Asking a policy that was trained on it ---------------------------------------------------

    def observation(self, states: ArrayLike) -> Floats:
        """States `[..., D]` of the environment in the form of a batch's observations."""
        array = np.asarray(states, dtype=np.float32)
        return self._padded(self.normaliser.states(array) if self.standardised else array)

    def goal(self, reference: ArrayLike, query: str | Query | ArrayLike) -> Floats:
        """A goal `[2 D]` or `[B, 2 D]` in the form of a batch's goals, to ask a policy with."""
        asked = InputReader(self.sampler.layout).read(reference, reference, query)
        states = self.normaliser.states(asked.goals) if self.standardised else asked.goals
        goals = pack_goal(np.broadcast_to(states, (asked.rows, states.shape[1])), asked.masks)
        return goals[0] if asked.single else goals

    def action(self, actions: ArrayLike) -> Floats:
        """A policy's actions `[..., A]` in the environment's units, within the bounds."""
        array = np.array(actions, dtype=np.float32)
        raw = self.normaliser.raw_actions(array) if self.standardised else array
        return raw if self.bounds is None else self.bounds.keep(raw)

    # --- From a batch to arrays -------------------------------------------------------------------

    def _arrays(self, batch: Batch[NDArray[Any]]) -> Arrays:
        at_goal = batch.goals[VALUE].at_goal.astype(np.float32)
        return {
            "observations": self._padded(self._states(batch.states)),
            "actions": self._actions(batch.actions),
            "next_observations": self._padded(self._states(batch.next_states)),
            **self._goals(VALUE, batch.goals[VALUE]),
            **self._goals(ACTOR, batch.goals[ACTOR]),
            **self._subgoals(batch),
            "rewards": at_goal - np.float32(self.negative),
            "masks": 1.0 - at_goal,
        }

    def _goals(self, name: str, goals: Goals[NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        references = self._states(goals.references)
        if self.packed:
            return {f"{name}_goals": pack_goal(references, goals.masks)}
        return {f"{name}_goals": references, f"{name}_queries": goals.masks}

    def _subgoals(self, batch: Batch[NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        """Subgoals of hierarchical agents: states some steps ahead, or the goal if sooner."""
        found: dict[str, NDArray[Any]] = {}
        for steps, later in batch.later.items():
            goals = batch.goals[ACTOR]
            sooner = (goals.steps >= 0) & (goals.steps < steps)
            targets = np.where(sooner[:, None], goals.references, later)
            found["low_actor_goals"] = self._whole(later)
            found["high_actor_targets"] = self._whole(targets)
            found["high_actor_goals"] = self._goals(ACTOR, goals)[f"{ACTOR}_goals"]
        return found

    def _whole(self, states: Floats) -> Floats:
        """States as goals with every coordinate active."""
        raw = self._states(states)
        return pack_goal(raw, np.ones(raw.shape, dtype=np.bool_)) if self.packed else raw

    def _states(self, standardised: Floats) -> Floats:
        if self.standardised:
            return standardised
        return standardised * self.normaliser.state_std + self.normaliser.state_mean

    def _actions(self, standardised: Floats) -> Floats:
        return standardised if self.standardised else self.normaliser.raw_actions(standardised)

    def _padded(self, states: Floats) -> Floats:
        return np.concatenate((states, np.zeros_like(states)), axis=-1) if self.padded else states
