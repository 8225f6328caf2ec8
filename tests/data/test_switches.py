"""Switches: components of actions with two values; an answer gets the nearer one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goalsets.data
from goalsets.cli import main
from goalsets.core import Episode, GoalsetsError
from goalsets.data.bounds import Bounds, BoundsError, Limits, Seen
from goalsets.data.inspect import inspect_store, write_page
from goalsets.data.propose.actions import recognise_actions
from goalsets.data.store import INDEX, Store, StoreError
from goalsets.data.trajectories import Trajectories
from goalsets.data.writer import write_store

rng = np.random.default_rng(0)
PAIRS = [(0.0, 1.0), (-1.0, 1.0), (0.0, 0.04), (-80.0, -79.5), (5.0, 1e6)]


def made(*values: tuple[float, float], low: float = -100, high: float = 1e7) -> Bounds:
    """Bounds of an ordinary component, and a switch for each pair of values."""
    ends = np.full((2, len(values) + 1), [[low], [high]], dtype=np.float32)
    return Bounds(ends[0], ends[1], "given", dict(enumerate(values, start=1)))


def logged(columns: list[np.ndarray], length: int = 25) -> list[Episode]:
    actions = np.column_stack(columns).astype(np.float32)
    parts = np.array_split(actions, max(1, len(actions) // length))
    return [Episode(np.zeros((len(part) + 1, 2), np.float32), part) for part in parts]


def two(n: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    return np.where(np.arange(n) % 3 == 0, float(high), float(low))


# --- Snapping ---


@pytest.mark.parametrize("pair", PAIRS)
def test_the_nearer_of_the_two_values(pair: tuple[float, float]) -> None:
    off, on = (np.float32(value) for value in pair)
    width, bounds = on - off, made(pair)
    shares = np.float32([-0.3, 0.0, 0.43, 0.499, 0.5, 0.501, 1.0, 1.7])
    actions = np.stack([shares, off + width * shares], axis=-1).astype(np.float32)
    found = bounds.keep(actions.copy())
    assert found[:, 1].tolist() == [off] * 4 + [on] * 4, "the middle itself is on"
    assert (found[:, 0] == actions[:, 0]).all(), "other components stay"
    assert (bounds.keep(found.copy()) == found).all()


def test_any_shape_in_place_and_without_hiding_what_is_no_number() -> None:
    bounds = made((0.0, 1.0), (-1.0, 1.0))
    one = np.float32([0.4, 0.4, 0.4])
    assert bounds.keep(one) is one
    assert one.tolist() == [np.float32(0.4), 0.0, 1.0]
    chunks = rng.normal(size=(3, 4, 3)).astype(np.float32)
    rows = bounds.keep(chunks.reshape(12, 3).copy())
    assert (bounds.keep(chunks.copy()) == rows.reshape(3, 4, 3)).all()
    broken = bounds.keep(np.float32([np.nan, np.nan, np.inf]))
    assert np.isnan(broken[:2]).all(), "a policy that diverged does not close its gripper"
    assert broken[2] == 1.0


def test_without_switches_nothing_changes() -> None:
    bounds, actions = made((0.0, 1.0)), rng.normal(size=(50, 2)).astype(np.float32)
    assert (bounds.without_switches().keep(actions.copy()) == actions).all()
    assert bounds.switches, "the original keeps them"


@given(
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e3, 1e3),
    pair=st.sampled_from(PAIRS[:4]),
    number=st.floats(-100, 100, width=32),
)
def test_units_make_no_difference(
    scale: float, shift: float, pair: tuple[float, float], number: float
) -> None:
    """The answer in other units is the same answer, unless rounding moves it over the middle."""

    def index(a: float, b: float, value: float) -> int:
        low, high = (float(np.float32(end)) for end in (a, b))
        bounds = made((low, high), low=-1e9, high=1e9)
        return [low, high].index(bounds.keep(np.float32([0.0, value]))[1])

    off, on = pair
    near = abs(number - (off + on) / 2) * scale
    if near > 1e-5 * (abs(shift) + 100 * scale):
        changed = index(scale * off + shift, scale * on + shift, scale * number + shift)
        assert changed == index(off, on, number)


# --- What the data shows ---


def test_the_two_values_come_from_the_data() -> None:
    n = 90
    columns = [rng.normal(size=n), two(n, -1, 1), two(n, -0.0, 0.04), rng.integers(0, 3, n)]
    columns += [np.full(n, 7.0), np.full(n, np.nan)]
    columns[1][5] = np.nan
    parts = Seen()
    for episode in logged(columns):
        parts.add(np.asarray(episode.actions))
    whole = Seen.of(Trajectories.from_episodes(logged(columns)))
    for seen in (parts, whole):
        found = seen.switches([2, 1, 2])
        assert found == {1: (-1.0, 1.0), 2: (0.0, float(np.float32(0.04)))}
        assert str(found[2][0]) == "0.0"
    for component, message in (
        (6, "there is no action 6 that could be a switch: actions have 6 components, numbered"),
        (-1, "there is no action -1 that could be a switch"),
        (3, "action 3 is not a switch: the data has more than two values, such as 0, 1 and 2, th"),
        (4, "action 4 is not a switch: the data has only 7 there. A switch has exactly two values"),
        (5, "action 5 is not a switch: the data has no finite number there"),
    ):
        with pytest.raises(BoundsError, match=message):
            whole.switches([component])


def test_bounds_that_exclude_a_value_are_refused() -> None:
    seen = Seen.of(Trajectories.from_episodes(logged([two(30, 0, 0.04), two(30)])))
    exact = Limits(low=(0,), high=(0.04, 1), switches=(0, 1)).bounds(seen.bounds(), seen)
    assert str(exact) == "0 or 0.04, 0 or 1"
    wide = (np.float32([-1, -1]), np.float32([1, 1]))
    within = Limits(wide, switches=(1,)).bounds(seen.bounds(), seen)
    assert (str(within), within.origin) == ("-1 to 1, 0 or 1", "space")
    assert (within.ends(0), within.ends(1)) == ((-1, 1), (0, 1))
    assert within.high[1] == 1
    assert within.low[1] == -1, "bounds stay what they are: training uses them"
    message = "action 1 is a switch, and its values in the data, 0 and 1, are not within its bounds"
    with pytest.raises(BoundsError, match=message):
        Limits(high=(0.5,), switches=(1,)).bounds(seen.bounds(), seen)
    with pytest.raises(BoundsError, match=message):
        Limits(high=(0.5,)).bounds(within)
    assert Limits(high=(0.5,), switches=()).bounds(within).switches == {}


# --- Stores and commands ---


def test_a_store_keeps_them(tmp_path: Path) -> None:
    episodes = logged([rng.normal(size=90), two(90, 0, 0.04)])
    store = write_store(tmp_path / "s", episodes, limits=Limits(switches=(1,)))
    expected = {1: (0.0, float(np.float32(0.04)))}
    assert store.bounds.switches == Store.open(store.path).bounds.switches == expected
    assert str(store.bounds).endswith(", 0 or 0.04")
    index = json.loads((store.path / INDEX).read_text())
    assert index["actions"]["switches"] == {"1": [0.0, expected[1][1]]}
    plain = write_store(tmp_path / "plain", episodes)
    assert set(json.loads((plain.path / INDEX).read_text())["actions"]) == {"low", "high", "from"}
    assert plain.fingerprint == store.fingerprint
    for wrong in (
        {"2": [0, 1]},
        {"x": [0, 1]},
        {"1": [1, 0]},
        {"1": [0, 1, 2]},
        [1],
        {"-1": [0, 1]},
    ):
        index["actions"]["switches"] = wrong
        (store.path / INDEX).write_text(json.dumps(index))
        with pytest.raises(StoreError, match=f"{INDEX} is damaged: 'actions': 'switches': "):
            Store.open(store.path)
    with pytest.raises(BoundsError, match="there is no action 2 that could be a switch"):
        write_store(tmp_path / "wrong", episodes, limits=Limits(switches=(2,)))
    assert not (tmp_path / "wrong" / INDEX).exists()


def test_an_import_takes_them_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n = 40
    np.savez(
        tmp_path / "log.npz",
        observations=rng.normal(size=(n, 2)),
        actions=np.column_stack([rng.uniform(-80, 80, n), two(n), two(n, -1, 1)]),
        terminals=np.arange(n) % 20 == 19,
    )
    log, store = str(tmp_path / "log.npz"), tmp_path / "s"
    command = ["data", "import", "npz", log, "--output", str(store), "--filler"]
    main(command)
    note = "note: action 2 has two values, -1 and 1: a switch? A policy returns numbers between"
    accept = "; --action-switches 2 makes policies answer -1 or 1.\n"
    out = capsys.readouterr().out
    assert note in out
    assert accept in out
    main([*command, "--action-switches", "2"])
    main(["data", "inspect", str(store)])
    out = capsys.readouterr().out
    assert out.count(", 0 to 1, -1 or 1, from the data") == 2
    assert out.count("note: action 1 has two values") == 2
    assert "note: action 2" not in out, "the offer is accepted"
    for given_wrong, message in (
        (["--action-switches", "3"], "there is no action 3 that could be a switch"),
        (["--action-switches", "0"], "action 0 is not a switch: the data has more than two values"),
        (["--action-switches", "2", "--action-high", "0.5"], "are not within its bounds"),
    ):
        with pytest.raises(SystemExit):
            main([*command, *given_wrong])
        assert message in capsys.readouterr().err
    assert Store.open(store).bounds.switches == {2: (-1, 1)}, "a failed import changed the store"


def test_a_page_and_a_program(tmp_path: Path) -> None:
    episodes = logged([rng.normal(size=90), two(90)])
    store = goalsets.data.from_episodes(episodes, tmp_path / "s", action_switches=[1])
    assert store.bounds.switches == {1: (0, 1)}
    assert recognise_actions(store.train, store.bounds.switches) == ()
    write_page(inspect_store(store), tmp_path / "s.html")
    assert "<td>0</td><td>1</td><td>a switch: only these two values</td>" in (
        tmp_path / "s.html"
    ).read_text(encoding="utf-8")
    with pytest.raises(GoalsetsError, match="there is no action 5"):
        goalsets.data.from_episodes(episodes, tmp_path / "t", action_switches=[5])
