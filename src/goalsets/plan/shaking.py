"""Shaking: noise for a robot that is stuck."""

from __future__ import annotations

import numpy as np

from goalsets.plan.parts import Floats

_STUCK, _STUCK_FOR = 0.2, 20
"""A robot is stuck if nothing changes by more than so many deviations for so many steps."""
_SHAKEN = 8
"""Steps with noise that get it out."""
_LOOK = 5
"""Steps between looks at whether it is stuck."""


class Shaking:
    """Adds noise to the actions of a robot that is stuck: the memory of one episode.

    A policy that imitates may come to a place where the data did different things, and their mean
    is to do nothing. Whatever it is asked, it stays there. A little noise takes it to where its
    actions mean something again. The noise is as large as the actions of the episode were, and
    stays within the smallest and the largest of them.
    """

    def __init__(self) -> None:
        """Nothing was done yet."""
        self._rng = np.random.default_rng(0)
        self._anchor: Floats | None = None
        self._steps = self._still = self._left = self._count = 0
        self._low = self._high = self._square = np.zeros(0, np.float32)

    def shake(self, action: Floats, state: Floats, deviations: Floats | None) -> Floats:
        """The action `[A]` to take in a state `[D]`.

        Args:
            action: What a policy wants to do.
            state: Where it is.
            deviations: `[D]`, of the data; without them nothing is done.
        """
        if deviations is None:
            return action
        if self._left:
            self._left -= 1
            size = np.sqrt(self._square / self._count)
            noisy = action + size * self._rng.standard_normal(len(action))
            return np.clip(noisy, self._low, self._high).astype(np.float32)
        self._remember(action)
        if self._steps % _LOOK == 0:
            self._look(state, deviations)
        self._steps += 1
        return action

    def _remember(self, action: Floats) -> None:
        """Remember what actions are like."""
        if not self._count:
            self._low, self._high, self._square = action, action, np.zeros_like(action)
        self._low, self._high = np.minimum(self._low, action), np.maximum(self._high, action)
        self._square = self._square + action * action
        self._count += 1

    def _look(self, state: Floats, deviations: Floats) -> None:
        """Notice that nothing changes."""
        anchor = self._anchor
        if anchor is None or (np.abs(state - anchor) > _STUCK * deviations + 1e-6).any():
            self._anchor, self._still = np.array(state), 0
            return
        self._still += _LOOK
        if self._still >= _STUCK_FOR:
            self._still, self._left = 0, _SHAKEN
