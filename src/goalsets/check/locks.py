"""Preconditions: values of other switches at which the data never does what is asked.

A measure of nearness cannot tell a locked drawer from an open one, because the lock is one number
among many. So each switch is examined separately. A state is *blocked* if one of its switches has a
value that is much rarer shortly before an arrival than in the data as a whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from goalsets.check.questions import Question

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

_SELDOM = 0.2
"""A value is avoided if its frequency before arrivals is below this share of its frequency
overall."""
_COMMON = 0.05
"""Values that are rarer than this overall are ignored."""


def blocked(question: Question, before: Floats, starts: Floats) -> tuple[Flags, tuple[str, ...]]:
    """Which states `[N, D]` are blocked, and by which groups.

    Args:
        question: The question; switches that it asks for are ignored.
        before: `[B, D]`, states shortly before arrivals, in the training data.
        starts: `[N, D]`, states from anywhere.
    """
    found = np.zeros(len(starts), np.bool_)
    names: list[str] = []
    asked = question.query.mask
    for group in question.query.layout.groups:
        columns = list(group.indices)
        if group.metric != "exact" or not group.kind or asked[columns].any() or not len(before):
            continue
        values, which = np.unique(starts[:, columns], axis=0, return_inverse=True)
        for place, value in enumerate(values):
            anywhere = float((which.ravel() == place).mean())
            then = float((before[:, columns] == value).all(1).mean())
            if anywhere >= _COMMON and then < _SELDOM * anywhere:
                found |= which.ravel() == place
                names.append(group.name)
    return found, tuple(dict.fromkeys(names))
