"""Conditioning: how a state, a reference and a query become a network's goal input."""

from goalsets.condition.base import (
    CONDITIONERS,
    Conditioner,
    Fill,
    FullConditioner,
    GoalSetConditioner,
    TaskConditioner,
)
from goalsets.condition.relational import RelationalConditioner
from goalsets.condition.relations import INPUTS, Relations

__all__ = [
    "CONDITIONERS",
    "INPUTS",
    "Conditioner",
    "Fill",
    "FullConditioner",
    "GoalSetConditioner",
    "RelationalConditioner",
    "Relations",
    "TaskConditioner",
]
