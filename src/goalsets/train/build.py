"""Putting together what a run is fed with: samplers over its data."""

from __future__ import annotations

import numpy as np
import torch

from goalsets.data.drawing import DataSource
from goalsets.data.trajectories import Trajectories
from goalsets.data.window import WINDOW_BYTES
from goalsets.learners import LEARNERS
from goalsets.relabel.batch import Batch
from goalsets.relabel.labels import IdentityLabels, Labels, PredicateLabels, TermLabels
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, SCHEMES
from goalsets.relabel.sampler import Arrays, Generators, RowSource, Sampler
from goalsets.runs.build import BANK_STATES
from goalsets.runs.config import TrainConfig
from goalsets.runs.frame import Frame


def make_sampler(config: TrainConfig, frame: Frame, data: RowSource) -> Sampler:
    """Create the sampler over standardised data."""
    return Sampler(
        source=data,
        layout=frame.layout,
        queries=QUERY_DISTRIBUTIONS[SCHEMES[config.scheme].queries](),
        spec=LEARNERS[config.learner].batch_spec(config.learner_config()),
        horizon=frame.horizon,
        labels=_make_labels(config, frame),
    )


def draw_held_out(
    config: TrainConfig,
    frame: Frame,
    held_out: Trajectories,
    size: int = 2048,
    window_bytes: int = WINDOW_BYTES,
) -> Batch[Arrays] | None:
    """Draw relabeled transitions from episodes that are not trained on, if there are any.

    They are drawn once: what changes in their metrics is then the learner.
    """
    if held_out.num_transitions < 1:
        return None
    # A single batch needs no copy of them all.
    source = DataSource(held_out, frame.normaliser, seed=config.seed, window_bytes=window_bytes)
    batch = make_sampler(config, frame, source).sample(size, Generators.from_seed(config.seed))
    source.close()
    return batch


def draw_bank(config: TrainConfig, data: RowSource) -> torch.Tensor | None:
    """Draw the states that a random fill is taken from, if that is what is asked for."""
    if config.fill != "random":
        return None
    rng = np.random.default_rng((config.seed, 2))
    return torch.from_numpy(data.states(data.draw_states(BANK_STATES, rng)))


def _make_labels(config: TrainConfig, frame: Frame) -> Labels:
    if config.labels == "identity":
        return IdentityLabels()
    if config.labels == "terms":
        normaliser = frame.normaliser
        return TermLabels(frame.layout, normaliser.state_mean, normaliser.state_std)
    return PredicateLabels(config.epsilon)
