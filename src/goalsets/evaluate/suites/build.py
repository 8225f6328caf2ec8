"""Build a suite: draw references once, from held-out data, away from the start of the episode."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet, Query, StateLayout
from goalsets.core.margins import margin
from goalsets.data.store import Store
from goalsets.envs.tasks import TASKS, Task
from goalsets.evaluate.conditions import describe_coordinate
from goalsets.evaluate.suites.description import Description, Predicate
from goalsets.evaluate.suites.suite import (
    Suite,
    SuiteEpisode,
    SuiteError,
    SuiteQuestion,
    layout_digest,
)
from goalsets.workers import silence

FIRST_SEED = 2_000_000
"""First seed of suites: far from the seeds of data collection and of official episodes."""

Floats = NDArray[np.float32]
Starts = dict[tuple[int, int], tuple[Floats, Floats]]
"""By task id and seed: the first observation and the official goal."""


def build_suite(
    task: str,
    store: Store,
    description: Description,
    *,
    seed: int = 0,
    watch: Callable[[int, int], None] = silence,
) -> Suite:
    """Draw the references of a suite.

    Args:
        task: The task.
        store: Its data; references come from the validation split only.
        description: The predicates.
        seed: The seed of the draws.
        watch: Called with the number of starts done, and of all.
    """
    known = TASKS[task]
    description.check(task, known.layout)
    bank = _bank(store, known.layout)
    starts = _starts(known, description.episodes, seed, watch)
    questions: dict[str, SuiteQuestion] = {}
    episodes: list[SuiteEpisode] = []
    shown = _shown_coordinates(description, known.layout)
    for predicate in description.predicates:
        drawn = _draw(predicate, known.layout, bank, starts, seed)
        goals = np.array([episode.goal for episode in drawn], dtype=np.float64)
        query = predicate.parse(known.layout)
        questions[predicate.name] = SuiteQuestion(
            query=str(query),
            goals=predicate.goals,
            where=predicate.where,
            margin=None if predicate.goals == "official" else predicate.margin,
            description=predicate.description,
            statistics=_statistics(goals, shown or query.indices, known.layout),
        )
        episodes += drawn
    return Suite(
        name=description.name,
        task=task,
        layout=layout_digest(known.layout),
        # No path, so that the same data gives the same suite on any machine.
        data={"fingerprint": store.fingerprint},
        seed=seed,
        questions=questions,
        episodes=tuple(episodes),
    )


def _bank(store: Store, layout: StateLayout) -> Floats:
    """The states that may be references, `[N, D]`."""
    bank = store.validation.observations
    if len(bank) == 0:
        raise SuiteError(
            f"{store.path} has no validation split, and the goals of a suite must be held out. "
            "Import the data again with --hold-out."
        )
    if bank.shape[1] != layout.dim:
        raise SuiteError(
            f"{store.path} has states of {bank.shape[1]} coordinates; layout {layout.name!r} has "
            f"{layout.dim}."
        )
    return bank


def _starts(task: Task, episodes: int, seed: int, watch: Callable[[int, int], None]) -> Starts:
    """Observe every start once: all predicates are asked from the same starts."""
    world = task.open()
    places = [
        (task_id, FIRST_SEED + 100_000 * seed + 1_000 * task_id + index)
        for task_id in task.goal_numbers
        for index in range(episodes)
    ]
    starts: Starts = {}
    for place in places:
        starts[place] = world.start(*place)
        watch(len(starts), len(places))
    world.close()
    return starts


def _draw(
    predicate: Predicate, layout: StateLayout, bank: Floats, starts: Starts, seed: int
) -> list[SuiteEpisode]:
    if predicate.goals == "official":
        return [
            SuiteEpisode(predicate.name, task_id, start, _plain(goal))
            for (task_id, start), (_, goal) in starts.items()
        ]
    condition = predicate.condition(layout)
    allowed = bank if condition is None else bank[condition.holds(bank)]
    if len(allowed) == 0:
        raise SuiteError(
            f"predicate {predicate.name!r}: none of {len(bank):,} validation states satisfies "
            f"'{predicate.where}'."
        )
    query = predicate.parse(layout)
    # Seeded by its name, so that a predicate's references do not depend on the other predicates.
    rng = np.random.default_rng([seed, zlib.crc32(predicate.name.encode())])
    return [
        SuiteEpisode(
            predicate.name, task_id, start, _plain(_draw_one(predicate, query, allowed, first, rng))
        )
        for (task_id, start), (first, _) in starts.items()
    ]


def _draw_one(
    predicate: Predicate, query: Query, allowed: Floats, first: Floats, rng: np.random.Generator
) -> Floats:
    """Draw references until one is far enough from the first observation."""
    # Most are far enough, so a few draws usually find one without a search through the bank.
    for rows in (rng.integers(0, len(allowed), 64), rng.permutation(len(allowed))):
        candidates = allowed[rows]
        far = np.flatnonzero(margin(GoalSet(candidates, query), first) >= predicate.margin)
        if len(far):
            return candidates[far[0]]
    raise SuiteError(
        f"predicate {predicate.name!r}: all of {len(allowed):,} references lie within "
        f"{predicate.margin:g} tolerances of the first observation. Lower its margin."
    )


def _plain(state: Floats) -> tuple[float, ...]:
    """A state as floats with few digits, equal to the state in single precision."""
    return tuple(float(str(value)) for value in state)


def _shown_coordinates(description: Description, layout: StateLayout) -> tuple[int, ...]:
    """The coordinates in any predicate's condition; their statistics show its effect."""
    conditions = [predicate.condition(layout) for predicate in description.predicates]
    found = {index for condition in conditions if condition for index in condition.indices}
    return tuple(sorted(found))


def _statistics(
    goals: NDArray[np.float64], indices: Iterable[int], layout: StateLayout
) -> dict[str, Sequence[float]]:
    return {
        describe_coordinate(index, layout): [
            round(float(reduce(goals[:, index])), 6) for reduce in (np.min, np.mean, np.max)
        ]
        for index in indices
    }


def with_episodes(description: Description, episodes: int | None) -> Description:
    """The same description with another number of episodes, if one is given."""
    if episodes is None:
        return description
    if episodes < 1:
        raise SuiteError(f"episodes must be 1 or more, got {episodes}.")
    return dataclasses.replace(description, episodes=episodes)
