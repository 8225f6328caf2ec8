"""Draws from data that is larger than memory.

A batch of random transitions reads one page of the file for every row. A page on disk costs a
random read. A page that is mapped costs nothing, but it stays mapped, until the whole file counts
as resident memory. So transitions are drawn from a *window*: a few hundred blocks of whole
episodes, chosen at random. When as many transitions have been drawn as a block holds, the oldest
block is replaced. So one pass through all blocks is one epoch. Every block spends the same time in
the window, so every transition is drawn equally often. Draws within a window are independent.
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
"""The size of a window: it holds the observations of a million transitions with 67 coordinates."""
_BLOCKS = 256
"""Blocks of a window. Many blocks make a batch a mixture of places all over the data. But every
block also maps the pages at its edges, so there should not be too many."""
_LARGEST_TABLE = 8
"""The most entries of the look-up table for each block."""


class Window:
    """A rotating choice of blocks, with the same methods to draw as `Trajectories`.

    The window depends only on its seed and on the number of transitions drawn so far. So a resumed
    run draws the same transitions as a run that was not interrupted. An episode is never divided:
    one that is larger than a block is a block by itself.

    Args:
        trajectories: The data.
        seed: Chooses the order of the blocks.
        window_bytes: The size of the observations in the window.
        block_bytes: The size of the observations in a block; by default a small part of the
            window.
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
        # Not window_bytes // block_bytes: long episodes make larger blocks than block_bytes.
        share = window_bytes / max(1, trajectories.observations.nbytes)
        self.size = min(blocks, max(1, int(share * blocks)))
        self._before = trajectories.offsets[self._edges] - self._edges
        self._transitions = np.diff(self._before)
        self._transitions_a_block = max(1, int(self._before[-1]) // blocks)
        self._orders: dict[int, NDArray[np.int64]] = {}
        self._moves = drawn // self._transitions_a_block
        # The table divides transitions into ranges of 2**stretch, none longer than any block.
        self._stretch = max(0, int(self._transitions.min()).bit_length() - 1)
        self._filled = False
        self._enter()

    @property
    def covers_everything(self) -> bool:
        """Whether all data fits into the window; the window then never moves."""
        return self.size == len(self._edges) - 1

    def advance(self, count: int) -> None:
        """Count a batch of `count` drawn transitions, and replace old blocks if it is time."""
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
        """Draw states of the window uniformly, except the last states of episodes."""
        return self._locate(rng.integers(0, self._cumulative[-1], count))[0]

    def _locate(self, drawn: Rows) -> tuple[Rows, Rows]:
        if not self._filled:
            self._fill()
        # The table gives the block in which each range of transitions begins. The range may end in
        # the next block. For blocks of similar size, this is several times as fast as a search.
        if self._table is not None:
            place = self._table[drawn >> self._stretch]
            place += drawn >= self._cumulative[place + 1]
        else:
            place = np.searchsorted(self._cumulative, drawn, side="right") - 1
        return self.trajectories.locate(drawn + self._shift[place])

    def _fill(self) -> None:
        """Read the blocks one after another. Otherwise the first batches read them row by row."""
        self._filled = True
        for block in self._blocks:
            self._tell(bring_in, int(block))

    def _enter(self) -> None:
        self._blocks = self._sequence(self._moves, self.size)
        self._cumulative = np.concatenate([[0], np.cumsum(self._transitions[self._blocks])])
        # For each block, the number to add to a transition of the window to get one of the data.
        self._shift = self._before[self._blocks] - self._cumulative[:-1]
        starts = np.arange(0, self._cumulative[-1], 1 << self._stretch)
        self._table = None
        if len(starts) <= _LARGEST_TABLE * self.size:
            self._table = np.searchsorted(self._cumulative, starts, side="right") - 1

    def _sequence(self, start: int, count: int) -> NDArray[np.int64]:
        """`count` blocks from an endless sequence of random permutations of the blocks."""
        blocks = len(self._transitions)
        first, last = start // blocks, (start + count - 1) // blocks
        for turn in range(first, last + 1):
            if turn not in self._orders:
                self._orders.pop(turn - 2, None)
                # The 3 separates this generator from others with the same seed.
                rng = np.random.default_rng((self.seed, 3, turn))
                self._orders[turn] = rng.permutation(blocks)
        offset = start - first * blocks
        if first == last:
            return self._orders[first][offset : offset + count]
        both = np.concatenate([self._orders[turn] for turn in range(first, last + 1)])
        return both[offset : offset + count]

    def _tell(self, advice: Callable[[NDArray[np.float32], int, int], None], block: int) -> None:
        """Tell the kernel about the pages of a block, if the arrays are memory-mapped."""
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
