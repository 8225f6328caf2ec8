"""Builds the samplers of a run over its data."""

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

_SAMPLE_QUERIES = 256
"""How many queries are drawn to find out which tables of arrivals a run needs."""


@dataclass(frozen=True)
class SplitArrivals:
    """The arrivals of a store's splits; None if the run needs none."""

    train: Arrivals | None = None
    validation: Arrivals | None = None


def make_arrivals(
    config: TrainConfig, frame: Frame, store: Store, say: Callable[[str], None] = silence
) -> SplitArrivals:
    """Compute or read the arrivals that a run needs."""
    if not _needs_arrivals(config):
        return SplitArrivals()
    rule = _make_rule(config, frame)
    found = SplitArrivals(
        Arrivals.of_store(store, "train", rule, say),
        Arrivals.of_store(store, "validation", rule, say),
    )
    # Make the tables now, not in the first step, so that they do not count as training time.
    asked = _make_queries(config).sample(
        frame.layout, _SAMPLE_QUERIES, np.random.default_rng(config.seed)
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
        frame: The frame of the data.
        data: The source of rows.
        arrivals: The arrivals of the same rows, for runs that need them. For trajectories in
            memory they are computed here.
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

    They are drawn once, so that only the learner changes their metrics.
    """
    if held_out.num_transitions < 1:
        return None
    if arrivals is None and _needs_arrivals(config):
        arrivals = Arrivals(_make_rule(config, frame), held_out)
    # A single batch does not need a copy of all episodes.
    source = DataSource(held_out, frame.normaliser, seed=config.seed, window_bytes=window_bytes)
    sampler = make_sampler(config, frame, source, arrivals)
    batch = sampler.sample(size, Generators.from_seed(config.seed))
    source.close()
    return batch


def draw_bank(config: TrainConfig, data: RowSource) -> torch.Tensor | None:
    """Draw the states for a random fill, if the run has one."""
    if config.fill != "random":
        return None
    rng = np.random.default_rng((config.seed, 2))
    return torch.from_numpy(data.states(data.draw_states(BANK_STATES, rng)))


def _make_queries(config: TrainConfig) -> QueryDistribution:
    return QUERY_DISTRIBUTIONS[SCHEMES[config.scheme].queries]()


def _make_spec(config: TrainConfig) -> BatchSpec:
    """The form of the learner's batches; with `direct`, its actor's goals are direct."""
    spec = LEARNERS[config.learner].batch_spec(config.learner_config())
    if config.direct is None:
        return spec
    if ACTOR not in spec.goals:
        raise GoalsetsError(
            f"'direct' needs goals named {ACTOR!r}, but {config.learner} has only: "
            f"{', '.join(spec.goals)}."
        )
    # The window already restricts goals to the near future, so near goals need no preference.
    window = config.direct
    direct = dataclasses.replace(
        spec.goals[ACTOR],
        window=window,
        robot_window=config.direct_robot,
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
            "labels by arrival and direct goals need the arrivals of the data: make them with "
            "make_arrivals."
        )
    normaliser = frame.normaliser
    states = data.observations * normaliser.state_std + normaliser.state_mean
    return dataclasses.replace(data, observations=states)
