"""A plan as a client sees it: a chain of questions, and how far along it the robot is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from goalsets.serve.client_words import Floats


@dataclass(frozen=True, eq=False)
class ClientStep:
    """One question of a plan."""

    words: str
    """What is asked, what it should take and the data behind it, for people."""
    query: str
    values: Mapping[str, Floats]
    """What is asked for: by name of each term, in observation units."""
    parts: tuple[str, ...]
    """What it moves."""
    price: float | None
    """Steps that it should take; None where no way is known."""
    support: int
    """How many recorded moves are like it; large numbers are not counted to the end."""
    far: float | None
    """How many tolerances the nearest recorded move is away."""
    aside: bool
    """Whether it puts something out of the way, where nobody asked for it."""
    state: Literal["done", "due", "to come"]

    def __str__(self) -> str:
        """The words."""
        return self.words


@dataclass(frozen=True, eq=False)
class ClientPlan:
    """A chain of questions."""

    steps: tuple[ClientStep, ...]
    """In order; empty where everything holds already, and where no chain was found."""
    missing: str
    """Why there is no chain; empty where there is one."""
    price: float | None
    """Steps that all of it should take."""
    due: int | None
    """Which step is due, counted from 0; None where none is, and the whole question is asked."""
    plans: int
    """How many plans were made for this question so far."""
    text: str
    """The plan in words, over several lines."""

    @property
    def found(self) -> bool:
        """Whether there is a chain."""
        return not self.missing

    def explain(self) -> str:
        """The chain in words, with prices and the data behind each move."""
        return self.text


def read_plan(told: Mapping[str, Any]) -> ClientPlan:
    """A plan from what the server told."""
    due = told["due"]
    steps = tuple(
        ClientStep(
            words=step["words"],
            query=step["query"],
            values={name: np.asarray(v, np.float32) for name, v in step["values"].items()},
            parts=tuple(step["parts"]),
            price=step["price"],
            support=step["support"],
            far=step["far"],
            aside=step["aside"],
            state=_state(number, due),
        )
        for number, step in enumerate(told["steps"])
    )
    return ClientPlan(steps, told["missing"] or "", told["price"], due, told["plans"], told["text"])


def _state(number: int, due: int | None) -> Literal["done", "due", "to come"]:
    if due is None or number < due:
        return "done"
    return "due" if number == due else "to come"
