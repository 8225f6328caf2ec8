"""Drawing from data that is larger than memory.

A batch of random transitions touches a page of the file for every row. Once the pages are mapped
that costs nothing, but they stay mapped, until the whole file counts as resident memory; and while
they are on disk, each one is a random read. So transitions are drawn from a *window*: some hundred
blocks of whole episodes, picked at random, of which the oldest is replaced when as many
transitions have been drawn as a block holds. One turn through all blocks is thus one epoch; every
block spends the same time in the window, so that every transition is drawn equally often; and
within a window draws are independent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.data.pages import announce, bring_in, give_back
from goalsets.data.trajectories import Rows, Trajectories

MEBIBYTE = 1 << 20
WINDOW_BYTES = 256 * MEBIBYTE
"""Room for the observations of a million transitions with 67 coordinates."""
_BLOCKS = 256
"""Blocks of a window: many, so that a batch is a mixture of places all over the data; but not so
many that the pages at their edges, which are mapped with them, would count."""
_LARGEST_TABLE = 8
"""Entries for each block."""


class Window:
    """A rotating choice of blocks, with the same draws as `Trajectories`.

    It is a function of its seed and of how many transitions were drawn, so that a resumed run
    sees what an undisturbed one would. An episode is never divided: one that is larger than a
    block is a block by itself.

    Args:
        trajectories: The data.
        seed: Chooses the order of the blocks.
        window_bytes: How much of the observations may be in the window.
        block_bytes: How much of them makes a block; by default a small part of the window.
        drawn: How many transitions have been drawn already, when a run is resumed.
    """

    def __init__(
        self,
        trajectories: Trajectories,
        seed: int,
        *,
        window_bytes: int = WINDOW_BYTES,
        block_bytes: int | None = None,
        drawn: int = 0,
    ) -> None:
        """Divide the episodes into blocks and choose those of the window."""
        if block_bytes is None:
            block_bytes = max(1, window_bytes // _BLOCKS)
        if not 0 < block_bytes <= window_bytes:
            raise GoalsetsError(
                f"a window needs 0 < block_bytes <= window_bytes, got {block_bytes} "
                f"and {window_bytes}."
            )
        self.trajectories = trajectories
        self.seed = seed
        self.drawn = drawn
        self._edges = _block_edges(trajectories, block_bytes)
        blocks = len(self._edges) - 1
        # Not window_bytes // block_bytes: long episodes make larger blocks than were asked for.
        share = window_bytes / max(1, trajectories.observations.nbytes)
        self.size = min(blocks, max(1, int(share * blocks)))
        self._before = trajectories.offsets[self._edges] - self._edges
        self._transitions = np.diff(self._before)
        self._transitions_a_block = max(1, int(self._before[-1]) // blocks)
        self._orders: dict[int, NDArray[np.int64]] = {}
        self._moves = drawn // self._transitions_a_block
        # Stretches of a power of two, each no longer than the smallest block.
        self._stretch = max(0, int(self._transitions.min()).bit_length() - 1)
        self._filled = False
        self._enter()

    @property
    def covers_everything(self) -> bool:
        """Whether the data fits into the window, so that it never moves."""
        return self.size == len(self._edges) - 1

    def advance(self, count: int) -> None:
        """Say that a batch of `count` transitions was drawn; old blocks may make way."""
        self.drawn += count
        if self.covers_everything:
            return
        while self._moves < self.drawn // self._transitions_a_block:
            oldest = int(self._blocks[0])
            self._moves += 1
            self._enter()
            if oldest not in self._blocks:
                self._tell(give_back, oldest)
            self._tell(bring_in, int(self._blocks[-1]))
            self._tell(announce, int(self._sequence(self._moves + self.size, 1)[0]))

    def draw_transitions(self, count: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Draw transitions of the window uniformly: rows, and last rows of their episodes."""
        return self._locate(rng.integers(0, self._cumulative[-1], count))

    def draw_states(self, count: int, rng: np.random.Generator) -> Rows:
        """Draw states of the window uniformly, but for the last ones of episodes."""
        return self._locate(rng.integers(0, self._cumulative[-1], count))[0]

    def _locate(self, drawn: Rows) -> tuple[Rows, Rows]:
        if not self._filled:
            self._fill()
        # A table says in which block a stretch of transitions begins; it may end in the next one.
        # That is several times as fast as to search, where blocks are of about the same size.
        if self._table is not None:
            place = self._table[drawn >> self._stretch]
            place += drawn >= self._cumulative[place + 1]
        else:
            place = np.searchsorted(self._cumulative, drawn, side="right") - 1
        return self.trajectories.locate(drawn + self._shift[place])

    def _fill(self) -> None:
        """Read the blocks one after the other: the first batches would read them row by row."""
        self._filled = True
        for block in self._blocks:
            self._tell(bring_in, int(block))

    def _enter(self) -> None:
        self._blocks = self._sequence(self._moves, self.size)
        self._cumulative = np.concatenate([[0], np.cumsum(self._transitions[self._blocks])])
        # What turns a transition of the window into one of the data, for each block.
        self._shift = self._before[self._blocks] - self._cumulative[:-1]
        starts = np.arange(0, self._cumulative[-1], 1 << self._stretch)
        self._table = None
        if len(starts) <= _LARGEST_TABLE * self.size:
            self._table = np.searchsorted(self._cumulative, starts, side="right") - 1

    def _sequence(self, start: int, count: int) -> NDArray[np.int64]:
        """A stretch of the endless sequence of random permutations of the blocks."""
        blocks = len(self._transitions)
        first, last = start // blocks, (start + count - 1) // blocks
        for turn in range(first, last + 1):
            if turn not in self._orders:
                self._orders.pop(turn - 2, None)
                # The 3 keeps it apart from what else is drawn with a run's seed.
                rng = np.random.default_rng((self.seed, 3, turn))
                self._orders[turn] = rng.permutation(blocks)
        offset = start - first * blocks
        if first == last:
            return self._orders[first][offset : offset + count]
        both = np.concatenate([self._orders[turn] for turn in range(first, last + 1)])
        return both[offset : offset + count]

    def _tell(self, advice: Callable[[NDArray[np.float32], int, int], None], block: int) -> None:
        """Tell the kernel about a block's pages, where the arrays are memory-mapped."""
        offsets = self.trajectories.offsets
        start, stop = offsets[self._edges[block]], offsets[self._edges[block + 1]]
        for array in (self.trajectories.observations, self.trajectories.actions):
            advice(array, int(start), int(stop))


def _block_edges(trajectories: Trajectories, block_bytes: int) -> Rows:
    """Episodes at which blocks begin, `[blocks + 1]`, each of at least `block_bytes`."""
    row_bytes = trajectories.observations.itemsize * trajectories.observations.shape[1]
    position = trajectories.offsets * row_bytes
    number = max(1, int(position[-1]) // block_bytes)
    wanted = np.linspace(0, position[-1], number + 1)
    return np.unique(np.searchsorted(position, wanted))
