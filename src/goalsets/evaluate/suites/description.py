"""The description of a suite: predicates, declared in YAML, and how to draw their references."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from goalsets.core import GoalsetsError, Query, StateLayout, door
from goalsets.core.errors import suggest
from goalsets.evaluate.conditions import Condition

Goals = Literal["official", "validation"]
DEFAULT_EPISODES = 20
MOST_EPISODES = 100_000
"""Default number of episodes of each predicate from each start."""
DEFAULT_MARGIN = 2.0

_SUITE_KEYS = ("name", "tasks", "episodes", "margin", "predicates")
_PREDICATE_KEYS = ("query", "tolerances", "goals", "where", "margin", "description")


class SuiteError(GoalsetsError):
    """A suite or a description cannot be read, built or run; the message says why."""


@dataclass(frozen=True)
class Predicate:
    """One question of a suite."""

    name: str
    query: str
    """The query as text; it may contain tolerances."""
    tolerances: Mapping[str, float | str] = field(default_factory=dict[str, "float | str"])
    """Tolerances by group; they replace those of the query and the layout."""
    goals: Goals = "validation"
    """Whether a reference is the official goal, or a state of the validation split."""
    where: str | None = None
    """A condition on references: see `goalsets.evaluate.conditions`."""
    margin: float = DEFAULT_MARGIN
    """The least distance of a reference from the first observation, in tolerances."""
    description: str = ""

    def parse(self, layout: StateLayout) -> Query:
        """The query under a layout."""
        return Query.parse(self.query, layout).with_tolerances(self.tolerances)

    def condition(self, layout: StateLayout) -> Condition | None:
        """The condition on references under a layout."""
        return None if self.where is None else Condition.parse(self.where, layout)


@dataclass(frozen=True)
class Description:
    """What a suite asks, and how often."""

    name: str
    predicates: tuple[Predicate, ...]
    tasks: tuple[str, ...] = ()
    """The tasks that it is meant for; if empty, any task with the right groups."""
    episodes: int = DEFAULT_EPISODES
    """Episodes of each predicate from each official start."""

    def check(self, task: str, layout: StateLayout) -> None:
        """Raise an error unless every predicate can be read under the layout of a task."""
        if self.tasks and task not in self.tasks:
            raise SuiteError(
                f"the suite {self.name!r} is for {', '.join(self.tasks)}, not for {task!r}."
            )
        for predicate in self.predicates:
            try:
                predicate.parse(layout)
                predicate.condition(layout)
            except GoalsetsError as error:
                raise SuiteError(f"predicate {predicate.name!r}: {error}") from None


def read_description(path: str | Path) -> Description:
    """Read a description from a YAML file."""
    path = Path(path)
    plain = door.read_yaml(path, what="the description", kind=SuiteError)
    return _described(plain, str(path), path.stem)


def shipped_description(task: str) -> Description:
    """The description that goalsets ships for a task."""
    known: list[str] = []
    for description in shipped_descriptions():
        if task in description.tasks:
            return description
        known += description.tasks
    raise SuiteError(
        f"no suite is shipped for {task!r}: {suggest(task, known)} Describe your own with "
        "--description."
    )


@functools.cache
def shipped_descriptions() -> tuple[Description, ...]:
    """All descriptions that goalsets ships, by name."""
    files = [
        file
        for file in resources.files("goalsets.evaluate.suites").iterdir()
        if file.name.endswith(".yaml")
    ]
    return tuple(
        _described(
            door.parse_yaml(file.read_text(encoding="utf-8"), file.name),
            file.name,
            file.name.removesuffix(".yaml"),
        )
        for file in sorted(files, key=lambda file: file.name)
    )


def _described(plain: Any, place: str, name: str) -> Description:  # noqa: ANN401 - as below
    try:
        return _from_plain(plain, name)
    except SuiteError as error:
        raise SuiteError(f"{place}: {error}") from None


def _from_plain(plain: Any, name: str) -> Description:  # noqa: ANN401 - whatever the file holds
    if not isinstance(plain, Mapping) or not isinstance(plain.get("predicates"), Mapping):
        raise SuiteError("expected a mapping with 'predicates', each with its 'query'.")
    _check_keys(plain, _SUITE_KEYS, "the suite")
    if not plain["predicates"]:
        raise SuiteError("a suite needs at least one predicate, got none.")
    margin = _number(plain.get("margin", DEFAULT_MARGIN), "margin")
    episodes = plain.get("episodes", DEFAULT_EPISODES)
    if type(episodes) is not int or not 1 <= episodes <= MOST_EPISODES:
        raise SuiteError(
            f"'episodes' must be a whole number above 0, up to {MOST_EPISODES:,}, got {episodes!r}."
        )
    predicates = tuple(_predicate(str(k), v, margin) for k, v in plain["predicates"].items())
    tasks = plain.get("tasks", ())
    tasks = (tasks,) if isinstance(tasks, str) else tasks
    if not isinstance(tasks, list | tuple) or not all(isinstance(task, str) for task in tasks):
        raise SuiteError(f"'tasks' must be a list of names, got {tasks!r}.")
    return Description(str(plain.get("name", name)), predicates, tuple(tasks), episodes)


def _predicate(name: str, plain: Any, margin: float) -> Predicate:  # noqa: ANN401 - as above
    if not isinstance(plain, Mapping) or "query" not in plain:
        raise SuiteError(f"predicate {name!r} needs a 'query', got {plain!r}.")
    _check_keys(plain, _PREDICATE_KEYS, f"predicate {name!r}")
    goals = plain.get("goals", "validation")
    if goals not in ("official", "validation"):
        raise SuiteError(
            f"predicate {name!r}: 'goals' must be official or validation, got {goals!r}."
        )
    if goals == "official" and ("where" in plain or "margin" in plain):
        raise SuiteError(
            f"predicate {name!r} uses the official goals as they are: it can have no 'where' and "
            "no 'margin'."
        )
    where, query = plain.get("where"), plain["query"]
    if not isinstance(query, str) or not isinstance(where, str | None):
        wrong = query if not isinstance(query, str) else where
        raise SuiteError(f"predicate {name!r}: expected a question in text, got {wrong!r}.")
    return Predicate(
        name=name,
        query=query,
        tolerances=_tolerances(plain.get("tolerances", {}), name),
        goals=goals,
        where=where,
        margin=_number(plain.get("margin", margin), f"margin of {name!r}"),
        description=str(plain.get("description", "")),
    )


def _tolerances(plain: Any, name: str) -> dict[str, float | str]:  # noqa: ANN401 - as above
    place = f"predicate {name!r}: 'tolerances'"
    return door.fit(plain, dict[str, float | str], place, kind=SuiteError)


def _check_keys(plain: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in plain:
        if key not in known:
            raise SuiteError(f"{what} has an unknown key {key!r}: {suggest(str(key), known)}")


def _number(value: Any, what: str) -> float:  # noqa: ANN401 - as above
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise SuiteError(f"the {what} must be 0 or more, got {value!r}.")
    return float(value)
