"""Finds out by their names which columns of a table hold state, action, time and episode."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from goalsets.core.errors import suggest
from goalsets.data.flatten import FieldSpec
from goalsets.data.sources.base import SourceError

_ACTION = re.compile(r"actions?([._/\[].*)?")
_EPISODE = re.compile(r"(episode|trajectory|traj)([._]?(index|idx|id|number))?")
_TIME = re.compile(r"_*(time|timestamp|stamp|t)(_(?P<unit>s|sec|ms|us|ns))?")
_UNITS = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
# Columns that many programs write in addition. They must not become a part of the state.
_BESIDE = re.compile(
    r"|index|unnamed: 0|(frame|step|row|task)([._]?(index|idx|id|number))?"
    r"|(next\.)?(rewards?|done|dones|success|terminals?|terminated|truncated|timeouts?)"
)
# A coordinate of a vector: `eef.x`, `eef_x`, `joint/0`, `joint_0`, `joint[0]`.
_PART = re.compile(
    r"(?P<stem>.+?)(?:(?P<dot>[._/])(?P<tail>[xyzw]|\d{1,9})|\[(?P<index>\d{1,9})\])"
)
_AFTER = {"w": "x", "x": "y", "y": "z", "z": "w"}
MOST_COLUMNS = 10_000
"""The most columns of a table. Recorded states have tens, and the work grows with the square."""
_MOST_LISTED = 50


@dataclass(frozen=True)
class Vector:
    """Columns that are one field of the state."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """The columns that the user names. An empty entry is filled by the names of the columns."""

    observations: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    episode: str = ""
    time: str = ""


@dataclass(frozen=True)
class Roles:
    """What each column is for."""

    observations: tuple[Vector, ...]
    actions: tuple[str, ...]
    extras: tuple[str, ...]
    episode: str | None
    time: str | None
    left_out: Mapping[str, str]
    """Columns that are not read, and why."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers."""
        states = (column for vector in self.observations for column in vector.columns)
        return (*states, *self.actions, *self.extras)

    @property
    def seconds(self) -> float:
        """The unit of the time column in seconds, by the end of its name."""
        found = _TIME.fullmatch((self.time or "").lower())
        return _UNITS[(found and found["unit"]) or "s"]

    def fields(self, widths: Mapping[str, int | None]) -> tuple[FieldSpec, ...]:
        """The fields of the state, without the prefix `observation.`."""
        return tuple(
            FieldSpec(
                vector.name.removeprefix("observation."),
                sum(widths[column] or 0 for column in vector.columns),
            )
            for vector in self.observations
        )


def choose_roles(widths: Mapping[str, int | None], wanted: Wanted) -> Roles:
    """Decide the role of each column, by the user's choice or by its name.

    Args:
        widths: For each column how many numbers a row holds; None if it does not hold numbers.
        wanted: The user's choice.

    Raises:
        SourceError: A column does not exist or does not hold numbers, or there is no column for
            the state or the action.
    """
    names = list(widths)
    if len(names) > MOST_COLUMNS:
        raise SourceError(f"it has {len(names):,} columns; up to {MOST_COLUMNS:,} are read.")
    episode = _one(names, wanted.episode, _EPISODE)
    time = _one(names, wanted.time, _TIME)
    actions = _all(names, wanted.actions) or [n for n in names if _ACTION.fullmatch(n.lower())]
    extras = _all(names, wanted.extras)
    taken = {episode, time, *actions, *extras}
    left_out: dict[str, str] = {}
    states = _all(names, wanted.observations)
    for name in names if not states else ():
        if name in taken:
            continue
        reason = _reason(name, widths[name])
        if reason:
            left_out[name] = reason
        else:
            states.append(name)
    roles = Roles(join_vectors(states), tuple(actions), tuple(extras), episode, time, left_out)
    _check(roles, widths)
    return roles


def join_vectors(names: Iterable[str]) -> tuple[Vector, ...]:
    """Join neighbouring columns such as `eef.x`, `eef.y`, `eef.z` to one vector, `eef`."""
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1][-1], name, len(runs[-1])):
            runs[-1].append(name)
        else:
            runs.append([name])
    return tuple(Vector(_stem(run[0]) if len(run) > 1 else run[0], tuple(run)) for run in runs)


def _follows(before: str, name: str, length: int) -> bool:
    one, two = _PART.fullmatch(before), _PART.fullmatch(name)
    if one is None or two is None or (one["stem"], one["dot"]) != (two["stem"], two["dot"]):
        return False
    tails = [found["tail"] or found["index"] for found in (one, two)]
    if tails[0] in _AFTER:
        # A vector begins with x or w and has up to four columns: a second x begins another vector.
        return _AFTER[tails[0]] == tails[1] and length < 4
    return tails[0].isdigit() and tails[1].isdigit() and int(tails[1]) == int(tails[0]) + 1


def _stem(name: str) -> str:
    found = _PART.fullmatch(name)
    return name if found is None else found["stem"]


def _one(names: Sequence[str], wanted: str, rule: re.Pattern[str]) -> str | None:
    if wanted:
        return _all(names, (wanted,))[0]
    return next((name for name in names if rule.fullmatch(name.lower())), None)


def _all(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """The columns that match the patterns, in the order of the patterns; a star is any text."""
    found: list[str] = []
    for pattern in patterns:
        # Not fnmatch: names may contain brackets, which have a meaning in shell patterns.
        rule = re.compile(re.escape(pattern).replace(r"\*", ".*"))
        matching = [pattern] if pattern in names else [n for n in names if rule.fullmatch(n)]
        if not matching:
            raise SourceError(f"there is no column {pattern!r}: {suggest(pattern, names)}")
        found += [name for name in matching if name not in found]
    return found


def _reason(name: str, width: int | None) -> str:
    """Why a column is not a part of the state; empty if it is."""
    if _BESIDE.fullmatch(name.lower()):
        return "its name says that it is not a part of the state"
    if any(rule.fullmatch(name.lower()) for rule in (_EPISODE, _TIME)):
        return "another column already gives the episode or the time"
    return "it does not hold numbers" if width is None else ""


def _check(roles: Roles, widths: Mapping[str, int | None]) -> None:
    names = ", ".join(map(repr, list(widths)[:_MOST_LISTED]))
    names += f" and {len(widths) - _MOST_LISTED:,} more" if len(widths) > _MOST_LISTED else ""
    if not roles.actions:
        raise SourceError(
            "no column holds actions: expected names such as 'action', 'action.x' or 'action_0', "
            f"or name them with 'actions'. The columns are {names}."
        )
    if not roles.observations:
        raise SourceError(
            "no column is left for the state: expected further columns of numbers, or name them "
            f"with 'observations'. The columns are {names}."
        )
    for name in roles.numbers:
        if widths[name] is None:
            raise SourceError(
                f"column {name!r} does not hold numbers: it cannot be a state, an action or an "
                "extra."
            )
    states = [column for vector in roles.observations for column in vector.columns]
    for one, two in itertools.combinations(
        (("state", states), ("action", roles.actions), ("time", (roles.time,))), 2
    ):
        both = sorted({*one[1]} & {*two[1]} - {None}, key=str)
        if both:
            raise SourceError(
                f"column {both[0]!r} cannot be both {one[0]} and {two[0]}: name it once."
            )
