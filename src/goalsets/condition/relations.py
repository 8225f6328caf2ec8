"""Relations: which inputs a network gets in addition to [s̄, ḡ, q]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from goalsets.condition.differences import Differences, Units
from goalsets.core import Group, Registry


@dataclass(frozen=True)
class Relations:
    """The inputs in addition to [s̄, ḡ, q]."""

    differences: bool = True
    """g ⊖ s, in each group's metric."""
    places: bool = True
    """s ⊖ r, for groups that are relative to r."""
    near: bool = True
    """Both also in tolerances, for the last centimetre."""
    multiples: bool = True
    """The angles of s ⊖ r also with their multiples 2 and 4."""
    objects: Literal["slots", "pooled", "focus"] = "focus"
    """Which of the objects that are alike: all of them, each at its own position of the input; the
    mean of those in the query; or the first of those that is not yet at its goal."""
    others: Literal["all", "unlike", "focused"] = "unlike"
    """Which objects the actor's state input contains: all; those that are like no other, so that
    the actor cannot confuse the focused object with another; or only those without a place. With
    `focused`, the actor sees an object in its goal input, if the question is about it. If not, the
    nearest object is shown while more is left of the question than the place of the hand."""

    def places_of(self, seen: Sequence[Group], units: Units) -> Differences:
        """The differences of groups to those that they are relative to."""
        return Differences(seen, units.even_scales(seen), near=self.near, multiples=self.multiples)


INPUTS: Registry[Relations | None] = Registry("goal input")
"""The goal inputs, which are chosen independently of the scheme: the paper's `plain`, `relational`,
or `focused`. Each of the others changes one part of `relational`, to measure its effect."""
INPUTS.add("plain", None)
INPUTS.add("relational", Relations())
INPUTS.add("focused", Relations(others="focused"))
INPUTS.add("pooled", Relations(objects="pooled"))
INPUTS.add("slots", Relations(objects="slots"))
INPUTS.add("with-others", Relations(others="all"))
INPUTS.add("without-near", Relations(near=False))
INPUTS.add("without-multiples", Relations(multiples=False))
INPUTS.add("without-places", Relations(places=False))
INPUTS.add("without-differences", Relations(differences=False))
