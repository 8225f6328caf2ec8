"""The protocol of sources of data, and helpers that they share.

A source is a frozen dataclass; its fields are its settings. To add one, write such a class in a
file of this package or of a plugin, and register it with `@SOURCES.register("name")`. The command
line and the contract tests then find it. Optional libraries are imported with `require` when they
are needed.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode, GoalsetsError, Registry, StateLayout, extras
from goalsets.core.errors import suggest
from goalsets.data.flatten import FieldSpec
from goalsets.data.store import Split

DROPPED_ACTION = "no state follows the last action in this log: that action was dropped"
LEFT_OUT = "observation {!r} was left out: it is not a vector of numbers"
SINGLE_STATE = "an episode of a single state has no transition and was left out"


class SourceError(GoalsetsError):
    """A log cannot be read, or is not what it claims to be."""


class Notices:
    """What a source left out or changed. Each notice is given once, with the number of episodes.

    Iterating gives sentences for people. Reading a log twice adds nothing new.
    """

    def __init__(self) -> None:
        """Start without notices."""
        self._places: dict[str, set[str]] = {}

    def add(self, text: str, place: str = "") -> None:
        """Add a notice, with a place such as an episode."""
        places = self._places.setdefault(text, set())
        if place:
            places.add(place)

    def join(self, other: Notices) -> None:
        """Add the notices of another source."""
        for text, places in other._places.items():
            self._places.setdefault(text, set()).update(places)

    def __iter__(self) -> Iterator[str]:
        """Yield each notice with the number of places where it holds."""
        for text, places in self._places.items():
            count = f" ({len(places)} episode{'s' * (len(places) > 1)})" if places else ""
            yield f"{text}{count}."

    def __len__(self) -> int:
        """Return the number of notices."""
        return len(self._places)


class Source(Protocol):
    """A log of episodes in some format, read one episode at a time.

    These members are optional; see the functions of the same names:

    * `known_layout()`: the layout of its states;
    * `rate`, a setting, or `known_rate()`: the steps a second;
    * `known_action_space()`: the smallest and the largest action, `[A]` each, infinite where there
      is no limit;
    * `store_name`: the default name of its store.
    """

    @property
    def notices(self) -> Notices:
        """What was left out or changed; complete once the episodes have been read."""
        ...

    @property
    def has_validation(self) -> bool:
        """Whether the log sets episodes apart for validation."""
        ...

    def fields(self) -> tuple[FieldSpec, ...]:
        """What makes up the flat observation vector, in order."""
        ...

    def episodes(self, split: Split = "train") -> Iterator[Episode]:
        """Read the episodes of a split, one at a time.

        Raises:
            SourceError: The log is damaged or contradicts itself. Nothing is left out silently.
        """
        ...

    def describe(self) -> str:
        """Say in one line what is being read."""
        ...


SOURCES: Registry[Callable[..., Source]] = Registry("dataset source")


def known_layout(source: Source) -> StateLayout | None:
    """The layout of a source's states; None if the source does not know it."""
    ask = getattr(source, "known_layout", None)
    return None if ask is None else ask()


def known_rate(source: Source) -> float | None:
    """Steps a second: the setting `rate` of the source, or the rate of its log."""
    told: float | None = getattr(source, "rate", None)
    ask = getattr(source, "known_rate", None)
    return ask() if told is None and ask is not None else told


def known_action_space(source: Source) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
    """The ends of the action space; None if the source does not know it."""
    ask = getattr(source, "known_action_space", None)
    return None if ask is None else ask()


def default_store_name(source: Source) -> str:
    """The default name of a source's store: its `store_name`, or its first setting as a stem."""
    name = getattr(source, "store_name", None)
    if name is None and dataclasses.is_dataclass(source):
        first = next((field.name for field in dataclasses.fields(source) if field.init), None)
        name = None if first is None else Path(str(getattr(source, first))).stem
    if not name:
        raise SourceError(f"{source.describe()} has no name for a store: give one with --output.")
    return name


def check_split(split: str, has_validation: bool, where: object) -> None:
    """Raise an error for a split that does not exist."""
    if split not in ("train", "validation"):
        raise SourceError(f"unknown split {split!r}: {suggest(split, ('train', 'validation'))}")
    if split == "validation" and not has_validation:
        raise SourceError(f"{where} has no validation episodes.")


def require(module: str, extra: str) -> ModuleType:
    """Import a library of an extra, or say how to install it."""
    return extras.require(module, "this source", extra)


def natural(name: str) -> list[tuple[int, str]]:
    """Sort key under which demo_2 comes before demo_10."""
    parts = re.split(r"(\d+)", name)
    return [
        (int(part), "") if part.isdecimal() and len(part) < 1000 else (0, part) for part in parts
    ]


def as_matrix(values: NDArray[Any], where: str) -> NDArray[np.float32]:
    """Values `[T, n]`, or `[T]` for one number a step, as `float32[T, n]`; copied if necessary."""
    if values.dtype.kind not in "biuf" or values.ndim not in (1, 2):
        raise SourceError(
            f"{where}: expected numbers of shape [steps, n], got shape {list(values.shape)} "
            f"of {values.dtype}."
        )
    matrix = values.reshape(len(values), -1) if values.ndim == 1 else values
    return matrix.astype(np.float32, copy=False)


def make_episode(
    where: str,
    observations: NDArray[np.float32],
    actions: NDArray[np.float32],
    extras: Mapping[str, NDArray[Any]],
    notices: Notices,
    *,
    filler: bool = False,
) -> Episode | None:
    """Build an episode from the arrays of a log; None if it has no transition.

    Args:
        where: The file and the episode, for messages.
        observations: `[T + 1, D]`, or `[T, D]` if the log lacks the last state.
        actions: `[T, A]`; the last one is dropped if the log lacks the last state.
        extras: A value for each observation.
        notices: Receives a notice about what is dropped.
        filler: Whether the last action only fills its row, so that dropping it needs no notice.
    """
    states = len(observations)
    if len(actions) not in (states, states - 1):
        raise SourceError(
            f"{where}: expected as many actions as states, or one less; got {states} states and "
            f"{len(actions)} actions."
        )
    for name, values in extras.items():
        if values.dtype.kind not in "biuf":
            raise SourceError(f"{where}: {name!r} must hold numbers, got {values.dtype}.")
        if len(values) != states:
            raise SourceError(
                f"{where}: {name!r} needs a value for each of the {states} states, "
                f"got {len(values)}."
            )
    if states < 2:
        notices.add(SINGLE_STATE, where)
        return None
    if len(actions) == states:
        actions = actions[:-1]
        if not filler:
            notices.add(DROPPED_ACTION, where)
    return Episode(observations, actions, extras)
