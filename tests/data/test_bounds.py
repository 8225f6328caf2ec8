"""Bounds of actions: in the data's own units, from what is known or from what was logged."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goalsets.cli import main
from goalsets.core import Episode
from goalsets.data.bounds import Bounds, BoundsError, Limits, Seen
from goalsets.data.importing import import_source
from goalsets.data.propose.actions import recognise_actions
from goalsets.data.sources.spaces import space_ends, space_shapes
from goalsets.data.store import INDEX, Store, StoreError
from goalsets.data.trajectories import Trajectories
from goalsets.data.writer import write_store

spaces = gymnasium.spaces
rng = np.random.default_rng(0)


def episodes(actions: np.ndarray, length: int = 25) -> list[Episode]:
    """Episodes that take these actions one after another."""
    parts = np.array_split(actions.astype(np.float32), max(1, len(actions) // length))
    return [Episode(np.zeros((len(part) + 1, 2), np.float32), part) for part in parts]


def seen(actions: np.ndarray) -> Bounds:
    return Bounds.seen_in(Trajectories.from_episodes(episodes(actions)))


# --- What the data shows ---


def test_the_range_of_the_data_and_a_tenth_more():
    found = seen(np.array([[-80.0, 2.0], [80.0, 2.5], [3.0, 3.0]]))
    np.testing.assert_allclose(found.low, [-96.0, 1.9])
    np.testing.assert_allclose(found.high, [96.0, 3.1])
    assert found.origin == "data"


def test_a_switch_has_no_room_and_gaps_are_passed_over():
    actions = np.array([[0.0, np.nan, np.nan], [0.04, 1.0, np.inf], [0.0, 2.0, np.nan]] * 2)
    found = seen(actions)
    np.testing.assert_array_equal(found.low, np.float32([0.0, 1.0, 0.0]))
    np.testing.assert_array_equal(found.high, np.float32([0.04, 2.0, 0.0]))


@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3), cut=st.integers(1, 40))
def test_they_change_their_units_as_the_data_does(scale: float, shift: float, cut: int):
    actions = np.random.default_rng(cut).normal(size=(60, 2))
    plain, parts = seen(actions), Seen()
    for part in (actions[:cut], actions[cut:]):  # however they come
        parts.add((scale * part + shift).astype(np.float32))
    changed = parts.bounds()
    size = 1e-5 * (abs(shift) + scale)
    np.testing.assert_allclose(changed.low, scale * plain.low + shift, atol=size, rtol=1e-5)
    np.testing.assert_allclose(changed.high, scale * plain.high + shift, atol=size, rtol=1e-5)


# --- What is known of them ---


def test_what_is_said_comes_before_the_space_and_the_space_before_the_data():
    logged = Bounds(np.float32([-8, -8]), np.float32([8, 8]), "data")
    space = (np.float32([-90, -np.inf]), np.float32([90, np.inf]))
    found = Limits(space).bounds(logged)
    assert (found.low.tolist(), found.high.tolist()) == ([-90, -8], [90, 8])
    assert found.origin == "space and data"
    assert Limits((space[0][:1], space[1][:1])).bounds(seen(np.ones((3, 1)))).origin == "space"
    unlimited = np.full(2, np.inf, np.float32)
    assert Limits((-unlimited, unlimited)).bounds(logged) is not None
    assert Limits((-unlimited, unlimited)).bounds(logged).origin == "data"
    found = Limits(space, low=(-5,)).bounds(logged)
    assert (found.low.tolist(), found.high.tolist()) == ([-5, -5], [90, 8])
    assert found.origin == "given"
    assert Limits(space, (-5, -6), (5, 6)).bounds(logged).high.tolist() == [5, 6]


def test_what_cannot_be_is_explained():
    logged = Bounds(np.float32([-8, -8, 0]), np.float32([8, 8, 1]), "data")
    message = "got 2 numbers for the low ends of actions with 3 components: give one for each"
    with pytest.raises(BoundsError, match=message):
        Limits(low=(-1, -1)).bounds(logged)
    with pytest.raises(BoundsError, match="the low end of action 1 is 9, above its high end, 8"):
        Limits(low=(-9, 9, 0)).bounds(logged)
    with pytest.raises(BoundsError, match="the high ends of actions must be finite numbers"):
        Limits(high=(np.nan,)).bounds(logged)


def test_spaces_have_ends():
    space = spaces.Dict(
        {
            "arm": spaces.Box(np.array([-2.0, -np.inf]), np.array([2.0, np.inf])),
            "grip": spaces.Discrete(3, start=1),
            "lamps": spaces.MultiBinary(2),
            "modes": spaces.MultiDiscrete([4, 2]),
            "free": spaces.Box(-np.finfo(np.float32).max, np.finfo(np.float32).max, (1,)),
        }
    )
    from goalsets.data.flatten import choose_fields

    fields, _ = choose_fields(space_shapes(space))
    assert [field.name for field in fields] == ["arm", "free", "grip", "lamps", "modes"]
    low, high = space_ends(space, fields)
    infinite = np.inf
    assert low.tolist() == [-2, -infinite, -infinite, 1, 0, 0, 0, 0]
    assert high.tolist() == [2, infinite, infinite, 3, 1, 1, 3, 1]


# --- Stores and imports ---


def test_a_store_keeps_them(tmp_path: Path):
    path = tmp_path / "s"
    train, held_out = episodes(np.array([[1.0], [2.0], [4.0]])), episodes(np.array([[9.0], [8.0]]))
    kept = write_store(path, train, held_out).bounds
    assert kept.origin == "data"
    np.testing.assert_allclose([kept.low[0], kept.high[0]], [0.7, 4.3])  # of training alone
    index = json.loads((path / INDEX).read_text())
    assert index["actions"]["from"] == "data"
    older = {key: value for key, value in index.items() if key != "actions"}
    (path / INDEX).write_text(json.dumps(older))
    np.testing.assert_array_equal(Store.open(path).bounds.high, kept.high)
    index["actions"]["high"] = [1.0, 2.0]
    (path / INDEX).write_text(json.dumps(index))
    with pytest.raises(StoreError, match="the bounds of actions do not fit each other"):
        Store.open(path)
    with pytest.raises(BoundsError, match="got 3 numbers for the high ends"):
        write_store(path, train, limits=Limits(high=(1, 2, 3)))


def test_sources_know_their_action_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from goalsets.data.sources import Minari, OGBench
    from tests.data import test_source_ogbench as ogbench
    from tests.walk import robot

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    source = Minari(str(robot.write_minari(tmp_path)))
    bounds = import_source(source, tmp_path / "minari-store").store.bounds
    assert (bounds.low.tolist(), bounds.high.tolist()) == ([-90, -90, 0], [90, 90, 1])
    assert bounds.origin == "space"
    ogbench.write(tmp_path / f"{ogbench.NAME}.npz", (4, 7))
    scene = OGBench(ogbench.NAME, directory=tmp_path, offline=True)
    found = import_source(scene, tmp_path / "scene-store", hold_out=0).store.bounds
    assert (found.low.tolist(), found.high.tolist()) == ([-1, -1], [1, 1])


def test_an_import_takes_them_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    n = 40
    np.savez(
        tmp_path / "log.npz",
        observations=rng.normal(size=(n, 2)),
        actions=np.column_stack([rng.uniform(-80, 80, n), np.arange(n) % 2]),
        terminals=np.arange(n) % 20 == 19,
    )
    log, store = str(tmp_path / "log.npz"), str(tmp_path / "s")
    command = ["data", "import", "npz", log, "--output", store, "--filler"]
    main([*command, "--action-low", "-90", "0", "--action-high", "90", "1"])
    out = capsys.readouterr().out
    assert "actions within -90 to 90, 0 to 1, as they were set\n" in out
    assert "note: action 1 has two values, 0 and 1: a switch?" in out
    assert Store.open(store).bounds.origin == "given"
    for given_wrong, message in (
        (["--action-low", "1", "2", "3"], "got 3 numbers for the low ends of actions with 2"),
        (["--action-low", "5", "--action-high", "-5"], "above its high end, -5"),
    ):
        with pytest.raises(SystemExit):
            main([*command, *given_wrong])
        assert message in capsys.readouterr().err
    assert Store.open(store).bounds.origin == "given", "a failed import changed the store"


# --- What components may be ---


def test_components_that_are_no_plain_numbers_are_recognised():
    n = 200
    turn = np.arange(n) * 7.0
    angle = np.radians(turn)
    quaternion = rng.normal(size=(n, 4))
    columns = [
        rng.normal(size=n),
        np.where(rng.random(n) < 0.5, 0.0, 0.04),
        rng.integers(0, 4, n),
        np.cos(angle),
        np.sin(angle),
        (turn + 180) % 360 - 180,
        (angle + np.pi) % (2 * np.pi) - np.pi,
        np.full(n, 3.0),
        *(quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)).T,
    ]
    told = recognise_actions(Trajectories.from_episodes(episodes(np.column_stack(columns))))
    starts = [
        "action 1 has two values, 0 and 0.04: a switch? A policy returns numbers between them; "
        "--action-switches 1 makes policies answer 0 or 0.04.",
        "action 2: a choice? Round the policy's output (200 rows hold only 0, 1, 2, 3).",
        "actions 3 to 4: an angle as (cos, sin)?",
        "action 5 jumps by nearly 360, 4 times: an angle in degrees?",
        "action 6 jumps by nearly 6.283, 4 times: an angle in radians?",
        "action 7 is always 3.",
        "actions 8 to 11: a unit quaternion?",
    ]
    assert len(told) == len(starts)
    for text, start in zip(told, starts, strict=True):
        assert text.startswith(start), text


def test_plain_numbers_are_not_talked_about():
    plain = np.column_stack(
        [rng.normal(size=100), np.cumsum(rng.normal(size=100)), 80 * rng.random(100)]
    )
    assert recognise_actions(Trajectories.from_episodes(episodes(plain))) == ()
