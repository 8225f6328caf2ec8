"""A plan as a client sees it: a chain of questions, and the robot's progress."""

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
    """The step in words: the question, its price, and the data behind it."""
    query: str
    values: Mapping[str, Floats]
    """The goal of each term by its name, in observation units."""
    parts: tuple[str, ...]
    """The part that it moves."""
    price: float | None
    """The number of steps that it should take; None if no way is known."""
    support: int
    """How many recorded moves are like it; counting stops at a large number."""
    far: float | None
    """The distance to the nearest recorded move, in tolerances."""
    aside: bool
    """Whether it moves something out of the way that the question does not ask for."""
    state: Literal["done", "due", "to come"]

    def __str__(self) -> str:
        """The words."""
        return self.words


@dataclass(frozen=True, eq=False)
class ClientPlan:
    """A chain of questions."""

    steps: tuple[ClientStep, ...]
    """In order; empty if everything holds already, or if no chain was found."""
    missing: str
    """Why there is no chain; empty if there is one."""
    price: float | None
    """The number of steps that the whole chain should take."""
    due: int | None
    """The current step, counted from 0; None when the whole question is asked."""
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
    """Read a plan from the server's answer."""
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
