"""Actions stay in the data's own units, from the data to the policy."""

from __future__ import annotations

import dataclasses
import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

import goalsets
from goalsets.core import Episode, Group, StateLayout
from goalsets.data.bounds import BoundsError, Limits
from goalsets.data.store import Store
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.envs.tasks import TASKS, Task
from goalsets.runs.config import TrainConfig
from goalsets.runs.run import Run, RunError
from goalsets.train.session import train

TASK = "tabletop-single-v0"
LAYOUT = tabletop_layout(1)
GRIP = 4
"""The component of actions that opens and closes the gripper."""


@pytest.fixture(scope="module")
def played() -> list[Episode]:
    return list(record_play(20, 60, seed=2).episodes())


def in_units(episodes: list[Episode], scale: np.ndarray, shift: np.ndarray) -> list[Episode]:
    return [
        dataclasses.replace(e, actions=(e.actions * scale + shift).astype(np.float32))
        for e in episodes
    ]


def small(store: Store, **changes: object) -> TrainConfig:
    """On a store of one's own: no environment tells what actions may be."""
    fields = {"task": str(store.path), "steps": 40, "batch_size": 64, "hidden": 32, "horizon": 20}
    return TrainConfig(**{**fields, "learning_rate": 3e-3, **changes})


@pytest.fixture(scope="module")
def gripping(played: list[Episode]) -> list[Episode]:
    """The same episodes, with a gripper that is only opened or closed."""
    return [dataclasses.replace(e, actions=with_switch(e.actions)) for e in played]


def with_switch(actions: np.ndarray) -> np.ndarray:
    found = np.array(actions)
    found[:, GRIP] = np.where(found[:, GRIP] < 0, -1, 1)
    return found


@pytest.fixture(scope="module")
def plain(gripping: list[Episode], tmp_path_factory: pytest.TempPathFactory) -> Run:
    place = tmp_path_factory.mktemp("plain")
    store = write_store(place / "store", gripping, layout=LAYOUT)
    return train(small(store, action_switches=(GRIP,)), store, place / "run")


def ask(run: Run, episodes: list[Episode], *, switches: bool = True) -> np.ndarray:
    """Actions, from many states to many goals; many are near the bounds."""
    states = np.concatenate([e.observations[:-1] for e in episodes])[::7]
    goals = np.roll(states, 31, axis=0)
    policy = goalsets.load(run.path)
    if not switches:
        policy.bounds = policy.bounds.without_switches()
    return policy.act(states, goals, "block0_pos")


@pytest.mark.full
@settings(max_examples=6, phases=(Phase.generate,))  # each is a training: none to simplify
@given(
    scale=st.lists(st.floats(1e-2, 1e3), min_size=5, max_size=5),
    shift=st.lists(st.floats(-10, 10), min_size=5, max_size=5),
)
def test_the_units_of_actions_make_no_difference(
    gripping: list[Episode],
    plain: Run,
    tmp_path_factory: pytest.TempPathFactory,
    scale: list[float],
    shift: list[float],
) -> None:
    """For any affine change of units, policies agree after converting back.

    Within 2 % of a deviation of the actions: standardised data differ in their last bits, and forty
    steps of training make more of it. The gripper is a switch: its answers are equal, except where
    the number that decides is that close to the middle.
    """
    place = tmp_path_factory.mktemp("changed")
    factors = np.array(scale)
    shifts = factors * np.array(shift)  # up to ten times as far from zero as the data is wide
    store = write_store(place / "store", in_units(gripping, factors, shifts), layout=LAYOUT)
    run = train(small(store, action_switches=(GRIP,)), store, place / "run")
    numbers, deviations = ask(plain, gripping, switches=False), plain.frame.normaliser.action_std
    back = (ask(run, gripping, switches=False) - shifts) / factors
    assert (np.abs(back - numbers) / deviations).max() < 0.02
    answers, expected = ask(run, gripping)[:, GRIP], ask(plain, gripping)[:, GRIP]
    assert set(expected.tolist()) == {-1, 1}
    assert set(answers.tolist()) == set(run.frame.bounds.switches[GRIP])
    same = (answers == run.frame.bounds.switches[GRIP][1]) == (expected == 1)
    near = np.abs(numbers[:, GRIP]) < 0.02 * deviations[GRIP]
    assert (same | near).all()


def test_a_policy_acts_in_the_units_of_the_data(
    played: list[Episode], plain: Run, tmp_path: Path
) -> None:
    degrees = in_units(played, np.full(5, 80.0), np.zeros(5))
    store = write_store(tmp_path / "s", degrees, layout=LAYOUT)
    run = train(small(store), store, tmp_path / "run")
    actions = ask(run, played)
    assert np.abs(actions).max() > 20, "an arm in degrees would hardly move"
    assert (actions >= run.frame.bounds.low).all()
    assert (actions <= run.frame.bounds.high).all()
    np.testing.assert_allclose(run.frame.bounds.high, 1.2 * 80 * np.ones(5), rtol=1e-3)
    assert Run.open(run.path).frame.bounds.origin == "data"
    assert run.tell_bounds()["from"].startswith("from the data")


def test_they_can_be_set_and_are_kept(played: list[Episode], tmp_path: Path) -> None:
    store = write_store(tmp_path / "s", played, layout=LAYOUT)
    config = small(store, steps=4, action_low=[-0.3], action_high=[0.3, 0.3, 0.3, 0.3, 0.5])
    assert TrainConfig.from_json(config.to_json()) == config
    run = train(config, store, tmp_path / "run")
    assert run.frame.bounds.origin == Run.open(run.path).frame.bounds.origin == "given"
    assert np.abs(ask(run, played)[:, :4]).max() <= np.float32(0.3)
    with pytest.raises(BoundsError, match="got 2 numbers for the low ends of actions with 5"):
        train(small(store, action_low=(-1, -1)), store, tmp_path / "wrong")
    with pytest.raises(BoundsError, match="the low end of action 0 is 2, above its high end, 1.2"):
        train(small(store, action_low=(2,)), store, tmp_path / "wrong")
    with pytest.raises(RunError, match=r"action_low is \(-0.3,\), not None"):
        train(small(store, steps=4), store, tmp_path / "run", resume=True)


def test_who_says_what_actions_may_be(played: list[Episode], tmp_path: Path) -> None:
    """The environment knows better than the data, and people know better than both."""
    store = write_store(tmp_path / "data", played, layout=LAYOUT)
    run = train(small(store, task=TASK, steps=1), store, tmp_path / "run")
    assert run.frame.bounds.high.tolist() == [1.0] * 5
    assert run.frame.bounds.origin == "space"
    set_there = write_store(tmp_path / "set", played, layout=LAYOUT, limits=Limits(high=(2,)))
    run = train(small(set_there, task=TASK, steps=1), set_there, tmp_path / "other")
    assert run.frame.bounds.high.tolist() == [2.0] * 5


@pytest.mark.full
@pytest.mark.skipif(find_spec("mujoco") is None, reason="needs MuJoCo, of the extra 'sim'")
def test_gymnasiums_pusher_is_bounded_by_2(tmp_path: Path) -> None:
    """Its action space is ±2: no constant of ours may cut what the data did."""
    import gymnasium

    env = gymnasium.make("Pusher-v5")
    env.action_space.seed(0)
    episodes = []
    for seed in range(4):
        states, actions = [env.reset(seed=seed)[0]], []
        for _ in range(20):
            actions.append(1.75 + env.action_space.sample() / 8)  # between 1.5 and 2
            states.append(env.step(actions[-1])[0])
        episodes.append(Episode(np.array(states, np.float32), np.array(actions, np.float32)))
    layout = StateLayout(23, [Group("joints", range(7), tolerance=0.1)])
    TASKS.add("pusher-high-v0", Task("pusher-high-v0", "Pusher-v5", layout, 100, 10))
    try:
        store = write_store(tmp_path / "s", episodes, layout=layout)
        run = train(small(store, task="pusher-high-v0", steps=10), store, tmp_path / "run")
        assert run.frame.bounds.origin == "space"
        assert run.frame.bounds.high.tolist() == [2.0] * 7
        states = episodes[0].observations
        actions = goalsets.load(run.path).act(states[:10], states[10:20], "joints")
        assert actions.min() > 1.2, "it was cut at 1"
        assert actions.max() <= 2
    finally:
        TASKS._remove("pusher-high-v0")  # other tests look at all tasks


def test_older_runs_keep_the_bounds_that_they_were_trained_with(plain: Run, tmp_path: Path) -> None:
    """Before runs kept bounds, all of them were bounded by -1 and 1."""
    import shutil

    shutil.copytree(plain.path, tmp_path / "run")
    frame = tmp_path / "run" / "frame.safetensors"
    with safe_open(frame, framework="pt") as file:
        tensors = {
            name: file.get_tensor(name)
            for name in file.keys()  # noqa: SIM118 - no mapping
            if name not in ("action_low", "action_high")
        }
    tensors["action_mean"] += 5.0  # so that the network wants more than 1
    save_file(tensors, frame, {"horizon": "20"})
    data = json.loads((tmp_path / "run/data.json").read_text())
    (tmp_path / "run/data.json").write_text(
        json.dumps({k: v for k, v in data.items() if k not in ("rate", "actions")})
    )
    older = Run.open(tmp_path / "run")
    assert older.frame.bounds.low.tolist() == [-1.0] * 5
    assert older.frame.bounds.origin == "older"
    states = np.zeros((3, LAYOUT.dim), np.float32)
    assert (goalsets.load(older.path).act(states, states, "all") == 1.0).all()
    assert older.tell_bounds() == {
        "low": [-1.0] * 5,
        "high": [1.0] * 5,
        "from": "as in all runs of older versions, which did not store bounds",
        "notes": [],
    }


def test_a_run_goes_on_with_the_bounds_that_it_began_with(
    played: list[Episode], tmp_path: Path
) -> None:
    """Even if somebody imports the same data with other bounds meanwhile."""
    store = write_store(tmp_path / "s", played, layout=LAYOUT)
    config = small(store, steps=8)
    stopped = iter([False] * 3 + [True])
    from goalsets.train.loop import StoppedError

    with pytest.raises(StoppedError):
        train(config, store, tmp_path / "run", stop=lambda: next(stopped))
    again = write_store(store.path, played, layout=LAYOUT, limits=Limits(high=(0.1,)))
    run = train(config, again, tmp_path / "run", resume=True)
    np.testing.assert_array_equal(run.frame.bounds.high, store.bounds.high)
    whole = train(config, store, tmp_path / "whole")
    np.testing.assert_array_equal(ask(run, played), ask(whole, played))
