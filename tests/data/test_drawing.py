"""Drawing: the same transitions and the same bits, wherever the data lies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from goalsets import Episode, GoalsetsError
from goalsets.data import drawing
from goalsets.data.drawing import DataPlace, DataSource, choose_place, make_source
from goalsets.data.normaliser import Normaliser
from goalsets.data.store import Store
from goalsets.data.trajectories import Trajectories
from goalsets.data.writer import write_store
from tests.data.test_store import make_episodes

PLACES: tuple[DataPlace, ...] = ("memory", "disk")
SMALL_WINDOW = 60 * 12
"""Bytes of sixty observations."""


@pytest.fixture
def data(tmp_path: Path) -> Trajectories:
    write_store(tmp_path / "s", make_episodes([9, 4, 13] * 20), make_episodes([5]))
    return Store.open(tmp_path / "s", mapped=True).train


def draw(source: DataSource, batches: int, rng: np.random.Generator) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    for _ in range(batches):
        rows, ends = source.draw_transitions(16, rng)
        others = source.draw_states(16, rng)
        found += [
            rows,
            ends,
            source.states(rows),
            source.taken_actions(rows),
            source.states(others),
        ]
        source.advance(16)
    return found


def assert_same(left: list[np.ndarray], right: list[np.ndarray]) -> None:
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one, other)


def test_draws_are_the_same_in_memory_and_on_disk(data: Trajectories) -> None:
    normaliser = Normaliser.fit(data)
    for size in (SMALL_WINDOW, 1 << 20):
        sources = [make_source(data, normaliser, p, seed=3, window_bytes=size) for p in PLACES]
        assert sources[0].windowed == sources[1].windowed == (size == SMALL_WINDOW)
        assert_same(*(draw(source, 60, np.random.default_rng(0)) for source in sources))


def test_data_that_fits_is_drawn_from_as_ever(data: Trajectories) -> None:
    source = make_source(data, Normaliser.fit(data), "disk", seed=3)
    left, right = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(3):
        assert_same(list(source.draw_transitions(50, left)), list(data.draw_transitions(50, right)))
        assert_same([source.draw_states(50, left)], [data.draw_states(50, right)])
        source.advance(50)


def test_random_states_come_from_the_window(data: Trajectories) -> None:
    source = make_source(data, Normaliser.fit(data), "disk", seed=3, window_bytes=SMALL_WINDOW)
    rng = np.random.default_rng(0)
    transitions, states = source.draw_transitions(4_000, rng)[0], source.draw_states(4_000, rng)
    assert set(np.unique(transitions)) == set(np.unique(states))
    assert len(np.unique(states)) < data.num_transitions / 4


@pytest.mark.parametrize("place", PLACES)
def test_it_goes_on_where_another_was(data: Trajectories, place: DataPlace) -> None:
    normaliser = Normaliser.fit(data)
    first, second = (
        make_source(data, normaliser, place, seed=3, window_bytes=SMALL_WINDOW) for _ in range(2)
    )
    rng = np.random.default_rng(0)
    draw(first, 37, rng)
    second.seek(37 * 16)
    again = np.random.default_rng()
    again.bit_generator.state = rng.bit_generator.state
    assert_same(draw(first, 20, rng), draw(second, 20, again))


def test_what_is_handed_out_may_be_changed(data: Trajectories) -> None:
    source = make_source(data, Normaliser.fit(data), "disk", seed=0)
    rows = np.array([2, 3])
    before = source.states(rows)
    source.states(rows)[:] = 7.0
    np.testing.assert_array_equal(source.states(rows), before)


def test_standardising_goes_by_pieces(data: Trajectories, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits do not depend on where pieces end, nor on whether the data is mapped."""
    normaliser = Normaliser.fit(data)
    whole = normaliser.states(np.array(data.observations))
    monkeypatch.setattr("goalsets.data.normaliser._CHUNK", 7)
    found = normaliser.apply(data)
    np.testing.assert_array_equal(found.observations, whole)
    np.testing.assert_array_equal(found.actions, normaliser.actions(np.array(data.actions)))
    assert not isinstance(found.observations, np.memmap)


def test_the_place_is_chosen_by_size(data: Trajectories, monkeypatch: pytest.MonkeyPatch) -> None:
    size = data.observations.nbytes + data.actions.nbytes
    said: list[str] = []
    for available, runs, expected in (
        (2 * size, 1, "memory"),
        (2 * size - 2, 1, "disk"),
        (4 * size, 2, "memory"),
        (4 * size, 3, "disk"),
    ):
        monkeypatch.setattr(drawing, "available_memory", lambda free=available: free)
        assert choose_place("auto", data, runs=runs, say=said.append) == expected
        assert said[-1].startswith(
            "data in memory" if expected == "memory" else "data left on disk"
        )
        for asked in PLACES:
            assert choose_place(asked, data, runs=runs, say=said.append) == asked
    assert len(said) == 4, "what was asked for need not be said"
    with pytest.raises(GoalsetsError, match="data can be in 'auto', 'memory' or 'disk', got 'ram'"):
        choose_place("ram", data)  # pyright: ignore[reportArgumentType]


RESIDENT = """
import sys
from pathlib import Path
import numpy as np
from goalsets.data.drawing import make_source
from goalsets.data.normaliser import Normaliser
from goalsets.data.store import Store

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024

store = Store.open(sys.argv[1], mapped=True)
before = peak()
store.verify()
normaliser = Normaliser.fit(store.train)
source = make_source(store.train, normaliser, "disk", seed=0, window_bytes=4 << 20)
rng = np.random.default_rng(0)
for _ in range(2 * store.train.num_transitions // 4096):
    rows, _ = source.draw_transitions(4096, rng)
    source.states(rows), source.taken_actions(rows)
    source.advance(4096)
print(peak() - before)
"""


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_stays_small_from_the_first_look_to_the_last(tmp_path: Path) -> None:
    """Checking, measuring and drawing: no step holds all of the data."""
    states = np.random.default_rng(0).random((2_001, 32), dtype=np.float32)
    episodes = [Episode(states, np.zeros((2_000, 5), dtype=np.float32))] * 1_000
    write_store(tmp_path / "s", episodes)  # 256 MB of observations
    command = [sys.executable, "-c", RESIDENT, str(tmp_path / "s")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 160, "MiB; a piece of the normaliser's takes half of it"
