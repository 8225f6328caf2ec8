"""Observations of Gymnasium's goal environments, which contain goals beside the state.

Such an observation is a dictionary with `observation`, `achieved_goal` and `desired_goal`. The
desired goal is the goal of the episode, not a part of the state: in the state, it would tell a
policy the answer. The achieved goal is often a copy of a part of `observation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.data.flatten import FieldSpec, flatten
from goalsets.data.sources.base import Notices

ACHIEVED, DESIRED = "achieved_goal", "desired_goal"
_ASKED_FOR = "{} was left out: it is the goal of the episode, not a part of the state"
_TWICE = "{} was left out: it is a copy of {} of the state"
_KEPT = "{} is a part of the state: the rest of the observation does not contain it"


@dataclass(frozen=True)
class Parts:
    """The parts of an observation that make up the state."""

    fields: tuple[FieldSpec, ...]
    """The fields of the state, in the order of the flat vector."""
    copies: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Achieved goals that are left out, each with the coordinates of the state that equal it."""

    def named(self) -> tuple[FieldSpec, ...]:
        """The fields, divided so that an achieved goal inside one of them keeps its name."""
        spans = {
            (places[0], places[-1] + 1): key
            for key, places in self.copies.items()
            if places == tuple(range(places[0], places[-1] + 1))
        }
        found: list[FieldSpec] = []
        start = 0
        for part in self.fields:
            stop = start + part.size
            inside = {
                span: key for span, key in spans.items() if start <= span[0] < span[1] <= stop
            }
            found += _cut(part, start, inside)
            start = stop
        return tuple(found)

    def flatten(self, tree: object) -> NDArray[np.float32]:
        """The states of an episode. It is an error if an achieved goal is not a copy there."""
        states = flatten(tree, self.fields)
        for key, places in self.copies.items():
            goals = flatten(tree, [FieldSpec(key, len(places))])
            if not _equal(goals, states[:, list(places)]):
                raise GoalsetsError(
                    f"{key!r} equals {_spell(places)} of the state in the first episodes, but not "
                    "in this one. Name the keys that make up the state in 'observations'."
                )
        return states


def has_goals(keys: Iterable[str]) -> bool:
    """Whether these dotted keys are those of a goal environment's observation."""
    tops = {key.split(".")[0] for key in keys}
    return {ACHIEVED, DESIRED} <= tops and len(tops) > 2


def part_goals(fields: Sequence[FieldSpec], episodes: Sequence[object], notices: Notices) -> Parts:
    """Leave goals out of the state, with a notice for each.

    Args:
        fields: All vectors of the observation.
        episodes: The observations of some episodes, which show whether a goal is a copy.
        notices: Receives a notice about each goal.
    """
    rest = [part for part in fields if not _is(part, DESIRED, ACHIEVED)]
    for part in fields:
        if _is(part, DESIRED):
            notices.add(_ASKED_FOR.format(repr(part.name)))
    states = np.concatenate([flatten(tree, rest) for tree in episodes])
    copies: dict[str, tuple[int, ...]] = {}
    for part in fields:
        if _is(part, ACHIEVED):
            goals = np.concatenate([flatten(tree, [part]) for tree in episodes])
            places = find_copy(goals, states)
            if places is None:
                notices.add(_KEPT.format(repr(part.name)))
            else:
                copies[part.name] = places
                notices.add(_TWICE.format(repr(part.name), _spell(places)))
    # Achieved goals that are kept come last, so that they do not shift the other coordinates.
    kept = [part for part in fields if _is(part, ACHIEVED) and part.name not in copies]
    return Parts((*rest, *kept), copies)


def find_copy(goals: NDArray[Any], states: NDArray[Any]) -> tuple[int, ...] | None:
    """The coordinates of the states that equal goals `[N, n]`; neighbours if possible."""
    size = goals.shape[1]
    for start in range(states.shape[1] - size + 1):
        if _equal(goals, states[:, start : start + size]):
            return tuple(range(start, start + size))
    columns = [
        next((i for i in range(states.shape[1]) if _equal(goal, states[:, i])), None)
        for goal in goals.T
    ]
    return None if None in columns else tuple(i for i in columns if i is not None)


def _cut(part: FieldSpec, start: int, inside: Mapping[tuple[int, int], str]) -> Iterable[FieldSpec]:
    """Divide a field that begins at coordinate `start` at the spans inside it."""
    at, stop = start, start + part.size
    for (first, end), key in sorted(inside.items()):
        if first < at:
            continue  # two goals overlap: the first one keeps its name
        if first > at:
            yield FieldSpec(part.name, first - at)
        yield FieldSpec(key, end - first)
        at = end
    if at < stop:
        yield FieldSpec(part.name, stop - at)


def _is(part: FieldSpec, *tops: str) -> bool:
    return part.name.split(".")[0] in tops


def _equal(left: NDArray[Any], right: NDArray[Any]) -> bool:
    # A log may store one of the two with fewer digits.
    return bool(np.allclose(left, right, rtol=1e-5, atol=1e-6, equal_nan=True))


def _spell(places: Sequence[int]) -> str:
    if len(places) == 1:
        return f"coordinate {places[0]}"
    if list(places) == list(range(places[0], places[-1] + 1)):
        return f"coordinates {places[0]} to {places[-1]}"
    return f"coordinates {', '.join(map(str, places))}"
