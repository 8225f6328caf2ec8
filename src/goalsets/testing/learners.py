"""Check the contract of a learner on random transitions, in about a second."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from goalsets.condition import GoalSetConditioner
from goalsets.learners import LEARNERS, Batch, BatchSpec, Goals, Learner, Problem
from goalsets.learners.settings import check_settings
from goalsets.runs.config import TrainConfig
from goalsets.runs.presets import DIRECT, DIRECT_NOISY, PRESETS

DIM, ACTIONS, SIZE, HORIZON = 6, 2, 32, 50
Asked = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_]]


def check_learner(name: str) -> None:
    """Check that a learner can be trained, saved, loaded and asked, as it declares.

    Args:
        name: Its name in `LEARNERS`.
    """
    for check in CHECKS:
        check(name)


# --- Small learners, and batches as they want them ------------------------------------------------


def make_learner(name: str, **settings: object) -> Learner:
    """A learner for small states and actions, with weights of one seed."""
    kind = LEARNERS[name]
    bound = torch.full((ACTIONS,), 1.5)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        problem = Problem(DIM, ACTIONS, HORIZON, -bound, bound)
        return kind(problem, GoalSetConditioner(DIM), kind.Config(**settings))


def make_batch(spec: BatchSpec, seed: int = 0) -> Batch[Tensor]:
    """Random transitions that satisfy a specification."""
    draw = torch.Generator().manual_seed(seed)

    def states() -> Tensor:
        return torch.randn(SIZE, DIM, generator=draw)

    def share(probability: float, *shape: int) -> Tensor:
        return torch.rand(SIZE, *shape, generator=draw) < probability

    def goals(p_random: float, labels: bool) -> Goals[Tensor]:
        # As in the sampler, steps are -1 for a goal of another episode.
        steps = torch.randint(-1 if p_random > 0 else 0, 20, (SIZE,), generator=draw)
        told = (share(0.2), share(0.2)) if labels else None
        return Goals(states(), share(0.6, DIM), steps, told)

    several = () if spec.actions == 1 else (spec.actions,)
    return Batch(
        states=states(),
        actions=torch.randn(SIZE, *several, ACTIONS, generator=draw),
        next_states=states(),
        goals={name: goals(m.p_random, m.labels) for name, m in spec.goals.items()},
        later={k: states() for k in spec.later},
        taken=share(0.9, *several) if several else None,
    )


def batch_for(learner: Learner, seed: int = 0) -> Batch[Tensor]:
    """Random transitions as this learner asks for them."""
    return make_batch(learner.batch_spec(learner.config), seed)


def _ready(name: str) -> tuple[Learner, Asked]:
    """A learner that is ready to act, and states, goals and masks to ask it with."""
    learner = make_learner(name)
    learner.prepare()
    rng = np.random.default_rng(5)
    states, goals = rng.standard_normal((2, SIZE, DIM)).astype(np.float32)
    masks = rng.random((SIZE, DIM)) < 0.6
    masks[:, 0] = True
    return learner, (states, goals, masks)


def _tensors(asked: Asked) -> list[Tensor]:
    return [torch.from_numpy(np.array(part)) for part in asked]


# --- What it declares -----------------------------------------------------------------------------


def check_declarations(name: str) -> None:
    """Its settings are a frozen dataclass with good defaults; its presets name known fields."""
    kind = LEARNERS[name]
    assert isinstance(kind, type) and issubclass(kind, Learner), (
        f"{name}: a learner is a subclass of goalsets.learners.Learner, got {kind!r}."
    )
    config = getattr(kind, "Config", None)
    assert dataclasses.is_dataclass(config) and config.__dataclass_params__.frozen, (  # pyright: ignore
        f"{name}: Config must be a frozen dataclass, got {config!r}."
    )
    for field in dataclasses.fields(config):
        default = (field.default, field.default_factory)
        assert any(each is not dataclasses.MISSING for each in default), (
            f"{name}: the setting {field.name!r} needs a default."
        )
    made = kind.Config()
    defaults = {field.name: getattr(made, field.name) for field in dataclasses.fields(config)}
    check_settings(kind.Config, defaults, f"{name}'s ")  # each in its range
    names = (*PRESETS, DIRECT, DIRECT_NOISY)
    for preset, fields in kind.presets.items():
        assert preset in names, (
            f"{name}: the presets are {', '.join(names)}; it declares settings for {preset!r}."
        )
        known = {field.name for field in dataclasses.fields(TrainConfig)}
        assert set(fields) <= known, (
            f"{name}: the preset {preset!r} sets fields that TrainConfig does not have: "
            f"{', '.join(sorted(set(fields) - known))}."
        )
        TrainConfig(task="any", learner=name, **fields)  # raises an error if a value is wrong


# --- How it learns --------------------------------------------------------------------------------


def check_gradients(name: str) -> None:
    """Losses are finite, and gradients reach everything that is trained."""
    learner = make_learner(name)
    loss, metrics = learner.losses(batch_for(learner))
    assert loss.ndim == 0 and bool(loss.isfinite()), (
        f"{name}: losses() must give one finite number, got {loss.detach()}."
    )
    for key, value in metrics.items():
        assert isinstance(value, Tensor) and not value.requires_grad, (
            f"{name}: the metric {key!r} must be a tensor without a gradient: detach() it."
        )
        assert bool(value.isfinite().all()), f"{name}: the metric {key!r} is not finite: {value}."
    loss.backward()
    for key, parameter in learner.named_parameters():
        if parameter.requires_grad:
            reached = parameter.grad is not None and bool(parameter.grad.abs().sum() > 0)
            assert reached, f"{name}: no gradient reaches {key}: use it, or do not train it."


def check_parameter_groups(name: str) -> None:
    """Every trained parameter is optimised exactly once."""
    learner = make_learner(name)
    grouped = [id(p) for group in learner.parameter_groups() for p in group.parameters]
    names = {id(p): key for key, p in learner.named_parameters() if p.requires_grad}
    twice = {names.get(p, "?") for p in grouped if grouped.count(p) > 1}
    assert not twice, f"{name}: parameter_groups() has {', '.join(sorted(twice))} more than once."
    left = [key for p, key in names.items() if p not in grouped]
    assert not left, f"{name}: parameter_groups() leaves out {', '.join(left)}."
    assert len(grouped) == len(names), f"{name}: parameter_groups() has untrained parameters."


def check_steps(name: str) -> None:
    """After some steps of an optimiser, losses are finite and actions have changed."""
    learner = make_learner(name)
    _, asked = _ready(name)
    before = learner.decide(*_tensors(asked)).detach()
    groups = [
        {"params": list(group.parameters), "lr": 1e-3 * group.rate}
        for group in learner.parameter_groups()
    ]
    optimiser = torch.optim.AdamW(groups)
    for step in range(5):
        optimiser.zero_grad()
        loss, _ = learner.losses(batch_for(learner, seed=step))
        assert bool(loss.isfinite()), f"{name}: the loss after {step} steps is {loss.detach()}."
        loss.backward()
        optimiser.step()
        learner.after_step()
    changed = (learner.decide(*_tensors(asked)) != before).any()
    assert bool(changed), f"{name}: its actions are the same before and after training."


# --- How it acts ----------------------------------------------------------------------------------


def check_saving(name: str) -> None:
    """A learner acts the same after its weights were saved and loaded."""
    learner, asked = _ready(name)
    other = LEARNERS[name](learner.problem, GoalSetConditioner(DIM), learner.config)
    other.load_state_dict(learner.state_dict())
    other.prepare()
    assert (learner.act(*asked) == other.act(*asked)).all(), (
        f"{name}: it acts differently after loading: all that acting needs must be in state_dict()."
    )


def check_one_as_many(name: str) -> None:
    """A state alone gets the same action as in a batch; shapes are `[A]` and `[B, A]`."""
    learner, asked = _ready(name)
    many = learner.act(*asked, memory=learner.reset())
    assert many.shape == (SIZE, ACTIONS), (
        f"{name}: act() must give [{SIZE}, {ACTIONS}] for {SIZE} states, got {list(many.shape)}."
    )
    assert np.isfinite(many).all(), f"{name}: act() gives actions that are not finite."
    for row in range(5):
        one = learner.act(*(part[row] for part in asked), memory=learner.reset())
        assert one.shape == (ACTIONS,) and np.allclose(one, many[row], rtol=1e-4, atol=1e-5), (
            f"{name}: a state alone gets the action {one}, in a batch {many[row]}."
        )


def check_decisions(name: str) -> None:
    """A decision has the declared number of actions, and is deterministic without a generator."""
    learner, asked = _ready(name)
    decided = learner.decide(*_tensors(asked))
    expected = (SIZE, *(() if learner.chunk == 1 else (learner.chunk,)), ACTIONS)
    assert decided.shape == expected, (
        f"{name}: with chunk {learner.chunk}, decide() must give {list(expected)}, got "
        f"{list(decided.shape)}."
    )
    assert 1 <= learner.executed <= learner.chunk, (
        f"{name}: executed must be between 1 and chunk ({learner.chunk}), got {learner.executed}."
    )
    assert bool((decided == learner.decide(*_tensors(asked))).all()), (
        f"{name}: decide() gives different actions when asked twice: without rng, draw nothing."
    )
    assert learner.chunk == 1 or learner.reset() is not None, (
        f"{name}: a chunk of {learner.chunk} actions needs a memory, but reset() returns None."
    )


def check_other_question(name: str) -> None:
    """A new question changes the action at once: the memory must not keep the old question."""
    learner, (states, goals, masks) = _ready(name)
    memory, others = learner.reset(), goals[::-1].copy()
    learner.act(states, goals, masks, memory=memory)
    fresh = learner.act(states, others, masks)
    assert (learner.act(states, others, masks, memory=memory) == fresh).all(), (
        f"{name}: after a new question it still acts for the old one: clear the memory."
    )
    assert (fresh != learner.act(states, goals, masks)).any(), f"{name}: goals change no action."


def check_distance(name: str) -> None:
    """A distance is a number for each state and depends on the goal; no unit means no distance."""
    learner, asked = _ready(name)
    states, goals, masks = _tensors(asked)
    if learner.distance_unit is None:
        assert type(learner).distance is Learner.distance, (
            f"{name} has a distance() but no distance_unit: declare its unit."
        )
        return
    first = learner.distance(states, goals, masks)
    assert first.shape == (SIZE,) and bool(first.isfinite().all()), (
        f"{name}: distance() must give {SIZE} finite numbers, got shape {list(first.shape)}."
    )
    assert bool((first != learner.distance(states, goals.flip(0), masks)).any()), (
        f"{name}: distance() does not depend on the goal."
    )
    alone = learner.distance(states[3:4], goals[3:4], masks[3:4])
    assert torch.allclose(alone, first[3:4], rtol=1e-4, atol=1e-4), (
        f"{name}: distance() of a state alone is {alone.tolist()}, in a batch {first[3]:.6g}."
    )


CHECKS: tuple[Callable[[str], None], ...] = (
    check_declarations,
    check_gradients,
    check_parameter_groups,
    check_steps,
    check_decisions,
    check_saving,
    check_one_as_many,
    check_other_question,
    check_distance,
)
"""The parts of `check_learner`."""
