"""Shaking: adds noise to the actions of a robot that is stuck."""

from __future__ import annotations

import numpy as np

from goalsets.plan.parts import Floats

_STUCK, _STUCK_FOR = 0.2, 20
"""A robot is stuck if no coordinate changes by more than the first number of deviations in the
second number of steps."""
_SHAKEN = 8
"""For how many steps noise is then added."""
_LOOK = 5
"""Steps between two checks whether it is stuck."""


class Shaking:
    """Adds noise to the actions of a robot that is stuck: the memory of one episode.

    A policy that imitates may come to a state in which the data took different actions whose mean
    is almost zero. It then stays there for every question. Some noise moves it to a state in which
    its actions have an effect again. The noise is as large as the actions of the episode, and
    noisy actions stay between the smallest and the largest of them.
    """

    def __init__(self) -> None:
        """Start without actions."""
        self._rng = np.random.default_rng(0)
        self._anchor: Floats | None = None
        self._steps = self._still = self._left = self._count = 0
        self._low = self._high = self._square = np.zeros(0, np.float32)

    def shake(self, action: Floats, state: Floats, deviations: Floats | None) -> Floats:
        """The action `[A]` to take in a state `[D]`.

        Args:
            action: The policy's action.
            state: The current state.
            deviations: `[D]`, the deviations of the data; None never adds noise.
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
        """Update the statistics of actions."""
        if not self._count:
            self._low, self._high, self._square = action, action, np.zeros_like(action)
        self._low, self._high = np.minimum(self._low, action), np.maximum(self._high, action)
        self._square = self._square + action * action
        self._count += 1

    def _look(self, state: Floats, deviations: Floats) -> None:
        """Check whether the robot is stuck."""
        anchor = self._anchor
        if anchor is None or (np.abs(state - anchor) > _STUCK * deviations + 1e-6).any():
            self._anchor, self._still = np.array(state), 0
            return
        self._still += _LOOK
        if self._still >= _STUCK_FOR:
            self._still, self._left = 0, _SHAKEN
