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

import contextlib
import mmap

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError
from goalsets.data.trajectories import Rows, Trajectories

MEBIBYTE = 1 << 20

# Linux: read and map a whole range in one call, where page faults would take many. Python does not
# name it yet; a kernel that does not know it refuses, and the faults do the work.
_POPULATE = 22


class Window:
    """A rotating choice of blocks, with the same draws as `Trajectories`.

    It is a function of its seed and of how many transitions were drawn, so that a resumed run
    sees what an undisturbed one would.

    Args:
        trajectories: The data.
        seed: Chooses the order of the blocks.
        window_bytes: How much of the observations may be in the window.
        block_bytes: How much of them makes a block.
        drawn: How many transitions have been drawn already, when a run is resumed.
    """

    def __init__(
        self,
        trajectories: Trajectories,
        seed: int,
        *,
        window_bytes: int = 128 * MEBIBYTE,
        block_bytes: int = MEBIBYTE // 2,
        drawn: int = 0,
    ) -> None:
        """Divide the episodes into blocks and open the window."""
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
        self.size = min(blocks, window_bytes // block_bytes)
        self._before = trajectories.offsets[self._edges] - self._edges
        self._transitions = np.diff(self._before)
        self._orders: dict[int, NDArray[np.int64]] = {}
        self._moves = drawn // self._transitions_a_block
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
                self._advise(oldest, mmap.MADV_DONTNEED)
            self._advise(int(self._blocks[-1]), _POPULATE)

    @property
    def _transitions_a_block(self) -> int:
        return max(1, int(self._before[-1]) // len(self._transitions))

    def draw_transitions(self, count: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Draw transitions of the window uniformly: rows, and last rows of their episodes."""
        drawn = rng.integers(0, self._cumulative[-1], count)
        # In the order of the blocks, memory is read from page to page instead of back and forth;
        # the order within a batch means nothing.
        drawn.sort()
        return self._locate(drawn)

    def draw_states(self, count: int, rng: np.random.Generator) -> Rows:
        """Draw states of the window uniformly, but for the last ones of episodes.

        They are not sorted: they are paired with transitions that are.
        """
        return self._locate(rng.integers(0, self._cumulative[-1], count))[0]

    def states(self, rows: Rows) -> NDArray[np.float32]:
        """The states `[B, D]` at rows."""
        return self.trajectories.states(rows)

    def taken_actions(self, rows: Rows) -> NDArray[np.float32]:
        """The actions `[B, A]` that were taken at rows."""
        return self.trajectories.taken_actions(rows)

    def _locate(self, drawn: Rows) -> tuple[Rows, Rows]:
        place = np.searchsorted(self._cumulative, drawn, side="right") - 1
        return self.trajectories.locate(drawn + self._shift[place])

    def _enter(self) -> None:
        self._blocks = self._sequence(self._moves, self.size)
        self._cumulative = np.concatenate([[0], np.cumsum(self._transitions[self._blocks])])
        # What turns a transition of the window into one of the data, for each block.
        self._shift = self._before[self._blocks] - self._cumulative[:-1]

    def _sequence(self, start: int, count: int) -> NDArray[np.int64]:
        """A stretch of the endless sequence of random permutations of the blocks."""
        blocks = len(self._transitions)
        first, last = start // blocks, (start + count - 1) // blocks
        for turn in range(first, last + 1):
            if turn not in self._orders:
                self._orders.pop(turn - 2, None)
                rng = np.random.default_rng((self.seed, turn))
                self._orders[turn] = rng.permutation(blocks)
        offset = start - first * blocks
        if first == last:
            return self._orders[first][offset : offset + count]
        both = np.concatenate([self._orders[turn] for turn in range(first, last + 1)])
        return both[offset : offset + count]

    def _advise(self, block: int, advice: int) -> None:
        """Tell the kernel about a block's pages, where the arrays are memory-mapped."""
        offsets = self.trajectories.offsets
        start, stop = offsets[self._edges[block]], offsets[self._edges[block + 1]]
        for array in (self.trajectories.observations, self.trajectories.actions):
            _advise_rows(array, int(start), int(stop), advice)


def _block_edges(trajectories: Trajectories, block_bytes: int) -> Rows:
    """Episodes at which blocks begin, `[blocks + 1]`, each of at least `block_bytes`."""
    row_bytes = trajectories.observations.itemsize * trajectories.observations.shape[1]
    position = trajectories.offsets * row_bytes
    number = max(1, int(position[-1]) // block_bytes)
    wanted = np.linspace(0, position[-1], number + 1)
    return np.unique(np.searchsorted(position, wanted))


def _advise_rows(array: NDArray[np.float32], start: int, stop: int, advice: int) -> None:
    memory = getattr(array, "_mmap", None)  # numpy's name for the mapping under a np.memmap
    if not isinstance(array, np.memmap) or memory is None or not hasattr(memory, "madvise"):
        return
    row_bytes = array.itemsize * array.shape[1]
    # The array may be a part of what is mapped: measure where in it the array begins.
    base = array.ctypes.data - np.frombuffer(memory, dtype=np.uint8).ctypes.data
    first = _round_up(base + start * row_bytes, mmap.PAGESIZE)
    last = (base + stop * row_bytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if last > first:
        with contextlib.suppress(OSError):
            memory.madvise(advice, first, last - first)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
