"""The questions to check: those that were named, those of a suite, or all groups and pairs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalSet, Query, StateLayout
from goalsets.core.term import Term
from goalsets.data.tolerances import UsualTolerances
from goalsets.evaluate.conditions import Condition
from goalsets.evaluate.suites import Suite, read_description
from goalsets.relabel.units import Unit

Floats = NDArray[np.float32]

YAML = (".yaml", ".yml")


@dataclass(frozen=True, eq=False)
class Question:
    """A question, and the goals to check it with."""

    name: str
    """Its name on the page."""
    query: Query
    """The query, with a tolerance for every term."""
    goals: Floats | None = None
    """`[N, D]`, the references; None means any held-out state."""
    where: Condition | None = None
    """A condition on held-out states, if `goals` is None."""
    note: str = ""
    """Assumptions, in words."""

    @property
    def units(self) -> tuple[Unit, ...]:
        """The terms, as `goalsets.relabel.held` takes them."""
        return tuple(Unit(t.indices, t.group.metric, _known(t)) for t in self.query.terms)

    def goal_set(self, references: Floats) -> GoalSet:
        """The goal sets of references `[..., D]`."""
        return GoalSet(references, self.query)

    def parts(self) -> list[Query]:
        """The query split by object; the robot counts as an object."""
        found: dict[str, Query] = {}
        for term in self.query.terms:
            mask = np.zeros(self.query.layout.dim, np.bool_)
            mask[list(term.indices)] = True
            alone = Query(self.query.layout, mask, {term.name: _known(term)})
            owner = term.group.object_name
            found[owner] = found[owner] & alone if owner in found else alone
        return list(found.values())

    @property
    def about_objects(self) -> bool:
        """Whether it asks for more than the robot itself."""
        return any(term.group.kind for term in self.query.terms)


def make_question(
    query: Query,
    usual: UsualTolerances,
    name: str = "",
    goals: Floats | None = None,
    where: Condition | None = None,
) -> Question:
    """A question with a tolerance for every term.

    If neither the query nor the layout gives one, the usual tolerance of the data is assumed, as in
    proposed layouts and in `goalsets data inspect`.

    Args:
        query: The query.
        usual: The usual tolerances of the data.
        name: The question's name; by default the query.
        goals: The references `[N, D]`.
        where: A condition on references.
    """
    missing = [term for term in query.terms if term.tolerance is None]
    found = {term.name: usual.find(term.indices, term.group.metric) for term in missing}
    assumed = {name: tolerance for name, (tolerance, _) in found.items()}
    note = "".join(
        f"No tolerance is known for {term.name}: {assumed[term.name]:.3g} was taken"
        f"{_spoken(term, assumed[term.name])}, {found[term.name][1]}. "
        for term in missing
    )
    complete = Query(query.layout, query.mask, {**query.tolerances, **assumed})
    return Question(name or str(query), complete, goals, where, note.strip())


def every_question(
    layout: StateLayout,
    usual: UsualTolerances,
    *,
    pairs: bool = True,
    leave_out: Sequence[str] = (),
) -> list[Question]:
    """All single groups of a layout, and all pairs of them.

    Args:
        layout: The layout.
        usual: The usual tolerances of the data.
        pairs: Whether to include pairs.
        leave_out: Groups to leave out of pairs, such as those that never change.
    """
    names = [group.name for group in layout.groups]
    texts = list(names)
    if pairs:
        moving = [name for name in names if name not in leave_out]
        texts += [f"{one} & {other}" for one, other in itertools.combinations(moving, 2)]
    if not texts:
        texts = ["all"]
    return [make_question(Query.parse(text, layout), usual) for text in texts]


def suite_questions(path: Path, layout: StateLayout, usual: UsualTolerances) -> list[Question]:
    """The questions of a suite: a built one (JSON) with its goals, or a description (YAML)."""
    if path.suffix in YAML:
        return [
            make_question(p.parse(layout), usual, p.name, where=p.condition(layout))
            for p in read_description(path).predicates
        ]
    suite = Suite.load(path)
    goals = {
        name: [e.goal for e in suite.episodes if e.predicate == name] for name in suite.questions
    }
    return [
        make_question(
            Query.parse(asked.query, layout),
            usual,
            name,
            np.array(goals[name], np.float32) if goals[name] else None,
        )
        for name, asked in suite.questions.items()
    ]


def _known(term: Term) -> float:
    assert term.tolerance is not None  # `make_question` gave it one
    return term.tolerance


def _spoken(term: Term, tolerance: float) -> str:
    said = term.group.say(tolerance)
    return f" ({said})" if said else ""
