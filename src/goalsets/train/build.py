"""Putting together what a run is fed with: samplers over its data."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from goalsets.core import GoalsetsError
from goalsets.data.drawing import DataSource
from goalsets.data.store import Store
from goalsets.data.trajectories import Trajectories
from goalsets.data.window import WINDOW_BYTES
from goalsets.learners import LEARNERS
from goalsets.relabel.arrivals import ArrivalLabels, Arrivals
from goalsets.relabel.batch import ACTOR, Batch, BatchSpec
from goalsets.relabel.labels import IdentityLabels, Labels, PredicateLabels, TermLabels
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, SCHEMES, QueryDistribution
from goalsets.relabel.sampler import Arrays, Generators, RowSource, Sampler
from goalsets.relabel.units import Rule
from goalsets.runs.build import BANK_STATES
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame
from goalsets.workers import silence

_QUERIES_LOOKED_AT = 256
"""Queries that tell which tables of arrivals a run needs."""


@dataclass(frozen=True)
class SplitArrivals:
    """The arrivals of a store's splits; None where a run needs none."""

    train: Arrivals | None = None
    validation: Arrivals | None = None


def make_arrivals(
    config: TrainConfig, frame: Frame, store: Store, say: Callable[[str], None] = silence
) -> SplitArrivals:
    """Work out, or read, what a run needs to know of since when the data was at its goals."""
    if not _needs_arrivals(config):
        return SplitArrivals()
    rule = _make_rule(config, frame)
    found = SplitArrivals(
        Arrivals.of_store(store, "train", rule, say),
        Arrivals.of_store(store, "validation", rule, say),
    )
    # Now rather than in the first step: this is no time of training.
    asked = _make_queries(config).sample(
        frame.layout, _QUERIES_LOOKED_AT, np.random.default_rng(config.seed)
    )
    assert found.train is not None
    found.train.bring(asked)
    return found


def make_sampler(
    config: TrainConfig, frame: Frame, data: RowSource, arrivals: Arrivals | None = None
) -> Sampler:
    """Create the sampler over standardised data.

    Args:
        config: The run.
        frame: What is known of the data.
        data: Where rows come from.
        arrivals: Those of the same rows, for runs that need them; of trajectories in memory they
            are worked out here.
    """
    if arrivals is None and _needs_arrivals(config):
        arrivals = Arrivals(_make_rule(config, frame), _in_observation_units(frame, data))
    return Sampler(
        source=data,
        layout=frame.layout,
        queries=_make_queries(config),
        spec=_make_spec(config),
        horizon=frame.horizon,
        labels=_make_labels(config, frame),
        arrivals=arrivals,
        steps_to_arrival=config.labels == "arrival",
    )


def draw_held_out(
    config: TrainConfig,
    frame: Frame,
    held_out: Trajectories,
    size: int = 2048,
    window_bytes: int = WINDOW_BYTES,
    arrivals: Arrivals | None = None,
) -> Batch[Arrays] | None:
    """Draw relabeled transitions from episodes that are not trained on, if there are any.

    They are drawn once: what changes in their metrics is then the learner.
    """
    if held_out.num_transitions < 1:
        return None
    if arrivals is None and _needs_arrivals(config):
        arrivals = Arrivals(_make_rule(config, frame), held_out)
    # A single batch needs no copy of them all.
    source = DataSource(held_out, frame.normaliser, seed=config.seed, window_bytes=window_bytes)
    sampler = make_sampler(config, frame, source, arrivals)
    batch = sampler.sample(size, Generators.from_seed(config.seed))
    source.close()
    return batch


def draw_bank(config: TrainConfig, data: RowSource) -> torch.Tensor | None:
    """Draw the states that a random fill is taken from, if that is what is asked for."""
    if config.fill != "random":
        return None
    rng = np.random.default_rng((config.seed, 2))
    return torch.from_numpy(data.states(data.draw_states(BANK_STATES, rng)))


def _make_queries(config: TrainConfig) -> QueryDistribution:
    return QUERY_DISTRIBUTIONS[SCHEMES[config.scheme].queries]()


def _make_spec(config: TrainConfig) -> BatchSpec:
    """What the learner wants; its actor's goals are direct if the run says so."""
    spec = LEARNERS[config.learner].batch_spec(config.learner_config())
    if config.direct is None:
        return spec
    if ACTOR not in spec.goals:
        raise GoalsetsError(
            f"{config.learner} has no goals under the name {ACTOR!r}, which 'direct' is about; it "
            f"has: {', '.join(spec.goals)}."
        )
    # Near futures need no preference any more: the window is one.
    window = config.direct
    direct = dataclasses.replace(
        spec.goals[ACTOR],
        window=window,
        linger=config.linger,
        settled=config.settled,
        horizon=window,
        exponent=1.0,
    )
    return dataclasses.replace(spec, goals={**spec.goals, ACTOR: direct})


def _make_labels(config: TrainConfig, frame: Frame) -> Labels:
    if config.labels == "identity":
        return IdentityLabels()
    normaliser = frame.normaliser
    if config.labels == "terms":
        return TermLabels(frame.layout, normaliser.state_mean, normaliser.state_std)
    if config.labels == "arrival":
        return ArrivalLabels(_make_rule(config, frame), normaliser.state_mean)
    return PredicateLabels(config.epsilon)


def _needs_arrivals(config: TrainConfig) -> bool:
    return config.labels == "arrival" or config.direct is not None


def _make_rule(config: TrainConfig, frame: Frame) -> Rule:
    return Rule(frame.layout, frame.normaliser.state_std, config.epsilon)


def _in_observation_units(frame: Frame, data: RowSource) -> Trajectories:
    """Undo the standardisation of trajectories in memory."""
    if not isinstance(data, Trajectories):
        raise GoalsetsError(
            "labels by arrival and direct goals take arrivals over the rows of the data: make some "
            "with make_arrivals."
        )
    normaliser = frame.normaliser
    states = data.observations * normaliser.state_std + normaliser.state_mean
    return dataclasses.replace(data, observations=states)
