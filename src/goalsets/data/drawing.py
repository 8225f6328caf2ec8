"""Draws batches from data in memory or on disk.

Which transitions are drawn does not depend on where the data is. Data that fits into a window is
drawn from as a whole. Larger data is drawn from through a rotating `Window`, in memory and on disk
alike. In memory, all data is standardised once. On disk, only the drawn rows are standardised,
which gives the same bits. So a run ends with the same weights wherever its data is. A resumed run
may even use another place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.data.normaliser import Normaliser
from goalsets.data.pages import give_back
from goalsets.data.trajectories import Rows, Trajectories
from goalsets.data.window import WINDOW_BYTES, Window
from goalsets.workers import available_memory, silence

Floats = NDArray[np.float32]

DataIn = Literal["auto", "memory", "disk"]
"""Where the data is during training; `auto` decides by its size."""
DataPlace = Literal["memory", "disk"]

_MEMORY_SHARE = 0.5
"""The share of the available memory that a copy of the data may take."""


class DataSource:
    """Draws transitions and states, and returns their standardised rows.

    Args:
        data: The episodes.
        normaliser: Standardises the returned rows; None if the data is standardised already.
        seed: Chooses the order of the parts of large data.
        window_bytes: If the observations are larger than this, they are drawn from through a
            window of this size. None always draws from all data.
    """

    def __init__(
        self,
        data: Trajectories,
        normaliser: Normaliser | None = None,
        *,
        seed: int = 0,
        window_bytes: int | None = None,
    ) -> None:
        """Read nothing yet."""
        self.data = data
        self._normaliser = normaliser
        self._seed, self._window_bytes = seed, window_bytes
        # Plain arrays are faster: np.memmap adds work to every operation.
        self._observations, self._actions = np.asarray(data.observations), np.asarray(data.actions)
        self._window: Window | None = None
        self.seek(0)

    @property
    def windowed(self) -> bool:
        """Whether the data is too large to be drawn from as a whole."""
        return self._window is not None

    def seek(self, drawn: int) -> None:
        """Go to the position after `drawn` transitions, as a resumed run must."""
        if self._window is not None:
            self.close()
        if self._window_bytes is not None and self._observations.nbytes > self._window_bytes:
            self._window = Window(
                self.data, self._seed, window_bytes=self._window_bytes, drawn=drawn
            )

    def draw_transitions(self, count: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Draw transitions uniformly: their rows, and the last row of each one's episode."""
        return (self._window or self.data).draw_transitions(count, rng)

    def draw_states(self, count: int, rng: np.random.Generator) -> Rows:
        """Draw states uniformly: their rows."""
        return (self._window or self.data).draw_states(count, rng)

    def states(self, rows: Rows) -> Floats:
        """The standardised states of rows `[N]`, as `[N, D]`."""
        # `take` copies whole rows, which is faster than indexing with an array.
        found = self._observations.take(rows, 0)
        return found if self._normaliser is None else self._normaliser.states(found)

    def taken_actions(self, rows: Rows) -> Floats:
        """The standardised actions of rows `[N]`, as `[N, A]`."""
        found = self._actions.take(rows, 0)
        return found if self._normaliser is None else self._normaliser.actions(found)

    def advance(self, count: int) -> None:
        """Count a batch of `count` drawn transitions; a window then moves on."""
        if self._window is not None:
            self._window.advance(count)

    def close(self) -> None:
        """Release the memory of rows that were read from disk."""
        for array in (self.data.observations, self.data.actions):
            give_back(array, 0, len(array))


def make_source(
    data: Trajectories,
    normaliser: Normaliser,
    place: DataPlace,
    *,
    seed: int,
    window_bytes: int = WINDOW_BYTES,
) -> DataSource:
    """Draw from a standardised copy in memory, or from the data where it is."""
    if place == "memory":
        return DataSource(normaliser.apply(data), seed=seed, window_bytes=window_bytes)
    return DataSource(data, normaliser, seed=seed, window_bytes=window_bytes)


def choose_place(
    asked: DataIn,
    data: Trajectories,
    *,
    runs: int = 1,
    say: Callable[[str], None] = silence,
) -> DataPlace:
    """Decide where the data is during training.

    Args:
        asked: `auto` takes memory if a copy needs less than half of what is available.
        data: The data.
        runs: How many runs share the memory.
        say: Called with a sentence about the choice that `auto` made.
    """
    if asked not in ("auto", "memory", "disk"):
        raise GoalsetsError(f"data can be in 'auto', 'memory' or 'disk', got {asked!r}.")
    if asked != "auto":
        return asked
    needed, available = data.observations.nbytes + data.actions.nbytes, available_memory() // runs
    place: DataPlace = "memory" if needed <= _MEMORY_SHARE * available else "disk"
    share = " for each run" if runs > 1 else ""
    say(
        f"data {'in memory' if place == 'memory' else 'left on disk'}: a copy takes "
        f"{_gigabytes(needed)}, {_gigabytes(available)} are free{share} (change with --data-in)."
    )
    return place


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
