"""Find a goal by the name that people type, and edit it.

    task, task:3, task:NAME      the official goal of the start, or another by number or name
    bank:17                      a state of the validation split, counted from 0
    bank:block0_pos.z >= 0.6     a validation state that satisfies a condition, drawn by the seed
    FILE.json                    a list of all coordinates, or groups to edit in the official goal

An edit is `block0_pos=0.4,0.1,0.02` in observation units, `block0_pos.z=6cm` in physical ones, or
`block0_yaw=30deg`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Group, QueryError, StateLayout, door, grammar
from goalsets.core.metrics import UNITS
from goalsets.evaluate.conditions import Condition, find_coordinates, unit_factor

Floats = NDArray[np.float32]

_UNIT_NORM = 0.02
"""How far from 1 the length of a typed direction may be."""


class GoalError(GoalsetsError):
    """A goal cannot be found or edited; the message says what was expected."""


class GoalFinder:
    """Finds the goals that people name.

    Args:
        layout: The layout of the states.
        names: The names of the official goals, which are numbered from 1.
        official: Returns the official goal with a number.
        start: The number of the official goal at which the episode starts.
        bank: Returns the validation states `[N, D]`; called only when a goal needs them.
        seed: The seed of the choice among several states.
    """

    def __init__(
        self,
        layout: StateLayout,
        names: Sequence[str],
        official: Callable[[int], Floats],
        start: int,
        bank: Callable[[], Floats],
        seed: int = 0,
    ) -> None:
        """Find nothing yet."""
        self._layout = layout
        self._names = tuple(names)
        self._official = official
        self._start = start
        self._bank = bank
        self._seed = seed

    def find(self, text: str) -> tuple[Floats, str]:
        """The reference `[D]` that a text names, and a description of it."""
        kind, colon, rest = text.strip().partition(":")
        if kind == "task":
            return self._from_task(rest, bool(colon))
        if kind == "bank":
            return self._from_bank(rest.strip())
        if text.strip().endswith(".json"):
            return self._from_file(Path(text.strip()))
        raise GoalError(
            f"expected a goal such as task:3, bank:17, 'bank:block0_pos.z >= 0.6' or FILE.json, "
            f"got {text!r}."
        )

    def _from_task(self, text: str, given: bool) -> tuple[Floats, str]:
        wanted, number = text.strip(), 0
        if not given:
            number = self._start
        elif wanted in self._names:
            number = self._names.index(wanted) + 1
        elif wanted.isdecimal() and len(wanted) < 10:
            number = int(wanted)
        if not 1 <= number <= len(self._names):
            raise GoalError(
                f"official goals are task:1 to task:{len(self._names)}, or by name "
                f"task:{' task:'.join(self._names)}; got 'task:{text}'."
            )
        return self._official(number), f"the official goal of task {number}"

    def _from_bank(self, text: str) -> tuple[Floats, str]:
        bank = self._bank()
        if len(bank) == 0:
            raise GoalError(
                "the data has no validation split to take a goal from. Name a JSON file, or task."
            )
        if re.fullmatch(r"\d{1,18}", text):
            row = int(text)
            if row >= len(bank):
                raise GoalError(
                    f"there are {len(bank):,} validation states, counted from 0; got {row}."
                )
            return np.array(bank[row]), f"validation state {row}"
        held = np.arange(len(bank))
        if text:
            held = np.flatnonzero(Condition.parse(text, self._layout).holds(bank))
        if len(held) == 0:
            raise GoalError(
                f"none of {len(bank):,} validation states satisfies '{text}'. Relax the condition."
            )
        row = int(held[np.random.default_rng(self._seed).integers(len(held))])
        return np.array(bank[row]), f"validation state {row}, one of {len(held):,}"

    def _from_file(self, path: Path) -> tuple[Floats, str]:
        plain = door.read_json(path, what="the goal", kind=GoalError)
        if isinstance(plain, dict) and set(plain) == {"goal"}:
            plain = plain["goal"]
        if isinstance(plain, dict):
            edits = [f"{name}={_as_text(value)}" for name, value in plain.items()]
            edited = edit_goal(self._official(self._start), edits, self._layout)
            return edited, f"{', '.join(plain)} from {path}, over the official goal"
        return _checked_state(plain, self._layout, path), f"the state in {path}"


def edit_goal(reference: Floats, edits: Sequence[str], layout: StateLayout) -> Floats:
    """Return a reference with other values, such as `["block0_pos=0.4,0.1,0.02"]`."""
    edited = np.array(reference, dtype=np.float32)
    for edit in edits:
        name, equals, text = edit.partition("=")
        if not (name.strip() and equals and text.strip()):
            raise GoalError(
                f"expected an edit such as block0_pos=0.4,0.1,0.02 or eff_pos.z=6cm, got {edit!r}."
            )
        group, indices = find_coordinates(name, layout)
        with np.errstate(over="ignore"):
            edited[list(indices)] = _values(text, name.strip(), group, len(indices))
        if not np.isfinite(edited[list(indices)]).all():
            raise GoalError(
                f"expected numbers for {name.strip()} that fit single precision, got {text!r}."
            )
    return edited


def _values(text: str, name: str, group: Group, count: int) -> list[float]:
    numbers, units = zip(*(_number(piece, name) for piece in text.split(",")), strict=True)
    # The last unit holds for the numbers before it: 0.4,0.1,0.02m are all metres.
    units = [unit or units[-1] for unit in units]
    if group.metric == "angle" and count == 2 and len(numbers) == 1 and _is_angle(units[0]):
        angle = numbers[0] * UNITS[units[0]][1]
        return [math.cos(angle), math.sin(angle)]
    if len(numbers) != count:
        hint = " (or an angle, such as 30deg)" if group.metric == "angle" and count == 2 else ""
        raise GoalError(f"{name} takes {count} numbers{hint}, got {len(numbers)}: {text!r}.")
    values = [n * unit_factor(u, group) for n, u in zip(numbers, units, strict=True)]
    if group.metric in ("angle", "quaternion") and count == len(group.indices):
        length = math.hypot(*values)
        if abs(length - 1.0) > _UNIT_NORM:
            raise GoalError(
                f"{name} must be a direction of length 1, got length {length:.3g}: {text!r}."
            )
    return values


def _is_angle(unit: str) -> bool:
    return unit in UNITS and UNITS[unit][0] == "rad"


def _number(text: str, name: str) -> tuple[float, str]:
    try:
        value, unit = grammar.parse_tolerance(text.strip())
    except QueryError:
        raise GoalError(f"expected numbers for {name}, got {text.strip()!r}.") from None
    if not math.isfinite(value):
        raise GoalError(f"expected finite numbers for {name}, got {text.strip()!r}.")
    return value, unit


def _as_text(value: Any) -> str:  # noqa: ANN401 - whatever the file holds
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _checked_state(plain: Any, layout: StateLayout, path: Path) -> Floats:  # noqa: ANN401 - as above
    try:
        with np.errstate(over="ignore"):
            state = np.asarray(plain, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise GoalError(f"{path}: expected {layout.dim} numbers, or values by group.") from None
    if state.shape != (layout.dim,) or not np.isfinite(state).all():
        raise GoalError(
            f"{path}: expected {layout.dim} finite numbers, got an array of shape {state.shape}."
        )
    return state
