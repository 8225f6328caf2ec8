"""The rotating window: fair over a turn, a function of its seed, small in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from goalsets import Episode, GoalsetsError
from goalsets.data.store import Store
from goalsets.data.trajectories import Trajectories
from goalsets.data.window import Window
from goalsets.data.writer import write_store
from tests.data.test_store import make_episodes

ROW = 3 * 4  # bytes of an observation


def test_draws_come_from_the_window_and_all_of_it_in_a_turn() -> None:
    trajectories = Trajectories.from_episodes(make_episodes([9] * 40))
    window = Window(trajectories, seed=0, block_bytes=20 * ROW, window_bytes=100 * ROW)
    assert window.size == 5
    rng = np.random.default_rng(0)
    counts = np.zeros(trajectories.num_states, dtype=int)
    for step in range(20 * 10):  # ten turns of twenty blocks with 18 transitions each
        rows, ends = window.draw_transitions(18, rng)
        assert len(np.unique(rows // 20)) <= 5, f"step {step} drew outside of the window"
        assert (rows < ends).all()
        assert (rows // 10 == ends // 10).all(), "a transition and its end are of one episode"
        np.add.at(counts, rows, 1)
        window.advance(18)
    last = np.arange(trajectories.num_states) % 10 == 9
    assert (counts[last] == 0).all()
    # Every block spent the same time in the window, but for the beginning and the end.
    blocks = counts.reshape(20, 20).sum(axis=1)
    assert counts[~last].min() > 0
    np.testing.assert_allclose(blocks, blocks.mean(), rtol=0.4)


def test_states_are_drawn_independently_of_transitions() -> None:
    """Random goals must not follow the order in which transitions come."""
    trajectories = Trajectories.from_episodes(make_episodes([9] * 40))
    window = Window(trajectories, seed=0, block_bytes=20 * ROW, window_bytes=200 * ROW)
    rng = np.random.default_rng(0)
    rows, _ = window.draw_transitions(5_000, rng)
    states = window.draw_states(5_000, rng)
    assert abs(np.corrcoef(rows, states)[0, 1]) < 0.06


def test_it_is_a_function_of_seed_and_advances() -> None:
    trajectories = Trajectories.from_episodes(make_episodes([9, 4, 13] * 20))
    sizes = {"block_bytes": 20 * ROW, "window_bytes": 100 * ROW}
    left = Window(trajectories, seed=3, **sizes)
    for _ in range(57):
        left.advance(13)
    right = Window(trajectories, seed=3, drawn=57 * 13, **sizes)
    other = Window(trajectories, seed=4, drawn=57 * 13, **sizes)
    draws = [w.draw_transitions(50, np.random.default_rng(0))[0] for w in (left, right, other)]
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


def test_small_data_is_drawn_from_as_a_whole(tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", make_episodes([9, 4, 13]))
    window = Window(store.train, seed=0)
    assert window.covers_everything
    window.advance(10_000)
    rows, _ = window.draw_transitions(2_000, np.random.default_rng(0))
    assert len(np.unique(rows)) == store.train.num_transitions
    assert window.draw_states(10, np.random.default_rng(0)).shape == (10,)


@pytest.mark.parametrize("mapped", [False, True])
def test_the_values_are_those_of_the_store(tmp_path: Path, mapped: bool) -> None:
    """Pages given back to the kernel are read again, not lost."""
    episodes = make_episodes([700] * 30)
    write_store(tmp_path / "s", episodes, make_episodes([5]))
    store = Store.open(tmp_path / "s", mapped=mapped)
    expected = np.concatenate([e.observations for e in episodes])
    window = Window(store.train, seed=0, block_bytes=3 * 4096, window_bytes=9 * 4096)
    rng = np.random.default_rng(0)
    for _ in range(100):
        rows, _ = window.draw_transitions(64, rng)
        np.testing.assert_array_equal(store.train.observations[rows], expected[rows])
        window.advance(64)


def test_sizes_are_checked() -> None:
    trajectories = Trajectories.from_episodes(make_episodes([9]))
    with pytest.raises(GoalsetsError, match="needs 0 < block_bytes <= window_bytes, got 8 and 4"):
        Window(trajectories, seed=0, block_bytes=8, window_bytes=4)


def resident_kilobytes(file: Path) -> int:
    """How much of a mapped file is resident in this process, as the kernel counts it."""
    total, ours = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:  # the first line of a mapping
            ours = line.endswith(str(file))
        elif ours and line.startswith("Rss:"):
            total += int(line.split()[1])
    return total


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux's /proc")
def test_memory_stays_small(tmp_path: Path) -> None:
    """The pages of blocks that left the window are given back."""
    rng = np.random.default_rng(0)
    states = rng.random((2_001, 28), dtype=np.float32)
    actions = np.zeros((2_000, 5), dtype=np.float32)
    episodes = [Episode(states, actions)] * 200
    write_store(tmp_path / "s", episodes)
    store = Store.open(tmp_path / "s", mapped=True)
    (file,) = tmp_path.glob("s/data-*/observations.npy")
    sizes = {"block_bytes": 1 << 18, "window_bytes": 1 << 21}
    window = Window(store.train, seed=0, **sizes)
    largest = 0
    for _ in range(400):
        rows, _ = window.draw_transitions(1024, rng)
        store.train.observations.take(rows, 0)
        window.advance(1024)
        largest = max(largest, resident_kilobytes(file))
    assert window.drawn > store.train.num_transitions, "the window should turn once"
    assert largest < file.stat().st_size / 1024 / 4


@pytest.mark.parametrize("lengths", [[9] * 40, [9, 4, 13] * 20, [1, 200, 3, 0, 90] * 10])
def test_every_transition_of_the_window_can_be_drawn(lengths: list[int]) -> None:
    """Also where blocks have very different sizes."""
    trajectories = Trajectories.from_episodes(make_episodes(lengths))
    window = Window(trajectories, seed=1, block_bytes=20 * ROW, window_bytes=100 * ROW)
    offsets = trajectories.offsets
    for _ in range(30):
        rows, ends = window.draw_transitions(20_000, np.random.default_rng(0))
        found = np.unique(rows)
        episodes = np.unique(np.searchsorted(offsets, found, side="right") - 1)
        expected = [np.arange(offsets[e], offsets[e + 1] - 1) for e in episodes]
        np.testing.assert_array_equal(found, np.concatenate(expected))
        assert (rows < ends).all()
        window.advance(37)
