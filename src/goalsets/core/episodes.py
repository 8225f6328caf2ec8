"""Episode: one recorded trajectory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from goalsets.core.errors import GoalsetsError


@dataclass(frozen=True)
class Episode:
    """One trajectory s₀, a₀, s₁, …, s_T: one observation more than actions.

    `extras` hold further values per observation, such as `qpos` and `qvel`.
    """

    observations: NDArray[np.floating]
    """`[T + 1, D]`."""
    actions: NDArray[np.floating]
    """`[T, A]`."""
    extras: Mapping[str, NDArray[np.generic]] = field(
        default_factory=dict[str, NDArray[np.generic]]
    )
    """Each `[T + 1, ...]`."""

    def __post_init__(self) -> None:
        """Check the shapes against each other."""
        if self.observations.ndim != 2 or self.actions.ndim != 2:
            raise GoalsetsError(
                "an episode needs observations [T + 1, D] and actions [T, A], got shapes "
                f"{self.observations.shape} and {self.actions.shape}."
            )
        if len(self.observations) != len(self.actions) + 1:
            raise GoalsetsError(
                "an episode has one observation more than actions, got "
                f"{len(self.observations)} observations and {len(self.actions)} actions."
            )
        for name, values in self.extras.items():
            if len(values) != len(self.observations):
                raise GoalsetsError(
                    f"{name!r} needs a value for each of the {len(self.observations)} "
                    f"observations, got {len(values)}."
                )

    def __len__(self) -> int:
        """Return the number of transitions."""
        return len(self.actions)
