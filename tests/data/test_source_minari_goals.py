"""Goal environments that Minari recorded: goals beside the state do not become state."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest

from goalsets import GoalsetsError, Query
from goalsets.cli import main
from goalsets.data.flatten import FieldSpec
from goalsets.data.importing import import_source
from goalsets.data.sources import Minari, SourceError
from goalsets.data.store import Store
from goalsets.testing import check_source

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

ASKED_FOR = "'desired_goal' was left out: it is the goal of the episode, not a part of the state."


@pytest.fixture(autouse=True)
def own_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))


def write(episodes, name="test/goals-v0"):
    """Let Minari write episodes of dictionaries of arrays; all actions are zeros."""
    steps = [len(next(iter(leaves_of(episode)))) - 1 for episode in episodes]
    buffers = [
        minari.data_collector.EpisodeBuffer(
            id=number,
            observations=episode,
            actions=np.zeros((length, 2), np.float32),
            rewards=[0.0] * length,
            terminations=[False] * length,
            truncations=[False] * (length - 1) + [True],
        )
        for number, (episode, length) in enumerate(zip(episodes, steps, strict=True))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # authors and so on, which Minari would like to know
        return minari.create_dataset_from_buffers(
            name,
            buffers,
            observation_space=space_of(episodes[0]),
            action_space=gymnasium.spaces.Box(-1, 1, (2,), np.float32),
        )


def leaves_of(tree):
    return [
        leaf
        for value in tree.values()
        for leaf in (leaves_of(value) if isinstance(value, dict) else [value])
    ]


def space_of(tree):
    if isinstance(tree, dict):
        return gymnasium.spaces.Dict({key: space_of(value) for key, value in tree.items()})
    return gymnasium.spaces.Box(-np.inf, np.inf, tree.shape[1:], tree.dtype)


def episodes_with(achieved, count=4):
    """Observations of six coordinates, and an achieved goal made from them."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        states = rng.normal(size=(7, 6))
        goal = np.tile(rng.normal(size=2), (7, 1))
        found.append(
            {"observation": states, "achieved_goal": achieved(states), "desired_goal": goal}
        )
    return found


def test_an_achieved_goal_in_the_observation_is_not_put_in_twice():
    episodes = episodes_with(lambda states: states[:, 3:5])
    write(episodes)
    source = Minari("test/goals-v0")
    check_source(source)
    assert source.fields() == (
        FieldSpec("observation", 3),
        FieldSpec("achieved_goal", 2),
        FieldSpec("observation", 1),
    )
    for episode, logged in zip(source.episodes(), episodes, strict=True):
        np.testing.assert_array_equal(
            episode.observations, logged["observation"].astype(np.float32)
        )
    assert list(source.notices) == [
        ASKED_FOR,
        "'achieved_goal' was left out: it is a copy of coordinates 3 to 4 of the state.",
    ]


def test_coordinates_that_lie_apart():
    write(episodes_with(lambda states: states[:, [5, 0]]))
    source = Minari("test/goals-v0")
    assert source.fields() == (FieldSpec("observation", 6),)
    assert "it is a copy of coordinates 5, 0 of the state." in list(source.notices)[1]


def test_an_achieved_goal_that_is_nowhere_else_is_state():
    """As in AntMaze, whose observation lacks the position."""
    episodes = episodes_with(lambda states: np.cumsum(states[:, :2], axis=0))
    write(episodes)
    source = Minari("test/goals-v0")
    check_source(source)
    assert source.fields() == (FieldSpec("observation", 6), FieldSpec("achieved_goal", 2))
    first = next(iter(source.episodes())).observations
    np.testing.assert_allclose(first[:, 6:], episodes[0]["achieved_goal"], rtol=1e-6)
    assert list(source.notices) == [
        ASKED_FOR,
        "'achieved_goal' is a part of the state: the rest of the observation does not contain it.",
    ]


def test_goals_of_several_parts():
    """As in FrankaKitchen, whose goals are dictionaries."""
    episodes = episodes_with(
        lambda states: {"kettle": states[:, 4:6], "light": states[:, 0:1] ** 2}
    )
    for episode in episodes:
        episode["desired_goal"] = {"kettle": episode["desired_goal"]}
    write(episodes)
    source = Minari("test/goals-v0")
    check_source(source)
    assert source.fields() == (
        FieldSpec("observation", 4),
        FieldSpec("achieved_goal.kettle", 2),
        FieldSpec("achieved_goal.light", 1),
    )


def test_a_copy_in_the_first_episodes_only_is_an_error():
    episodes = episodes_with(lambda states: states[:, :2], count=12)
    episodes[11]["achieved_goal"] = episodes[11]["achieved_goal"] + 1
    write(episodes)
    with pytest.raises(
        SourceError,
        match="episode 11: 'achieved_goal' equals coordinates 0 to 1 .* but not in this",
    ):
        list(Minari("test/goals-v0").episodes())
    named = Minari("test/goals-v0", observations=("observation", "achieved_goal"))
    assert len(list(named.episodes())) == 12


def test_who_names_the_keys_gets_them():
    write(episodes_with(lambda states: states[:, :2]))
    keys = ("observation", "achieved_goal", "desired_goal")
    source = Minari("test/goals-v0", observations=keys)
    assert [field.name for field in source.fields()] == list(keys)
    assert list(source.notices) == []


def test_a_data_set_at_hand(tmp_path):
    data = write(episodes_with(lambda states: states[:, :2], count=6))
    source = Minari.from_dataset(data)
    check_source(source)
    assert source.describe() == "Minari data set test/goals-v0 with 6 episodes"
    some = data.filter_episodes(lambda episode: episode.id % 2 == 1)
    store = import_source(Minari.from_dataset(some), tmp_path / "s", hold_out=0).store
    assert store.train.num_episodes == 3
    assert ASKED_FOR in store.notices
    wanted = Minari.from_dataset(data, observations=["achieved_goal"])
    assert [field.name for field in wanted.fields()] == ["achieved_goal"]
    with pytest.raises(GoalsetsError, match="expected a minari.MinariDataset, got str"):
        Minari.from_dataset("test/goals-v0")


# --- Environments of others -----------------------------------------------------------------------


def drive(env, episodes=5, steps=25):
    """Random episodes of an environment, as dictionaries of arrays."""
    found = []
    for seed in range(episodes):
        env.action_space.seed(seed)
        states = [env.reset(seed=seed)[0]]
        states += [env.step(env.action_space.sample())[0] for _ in range(steps)]
        found.append({key: np.stack([state[key] for state in states]) for key in states[0]})
    return found


def test_point_maze_from_recording_to_question(tmp_path, capsys):
    robotics = pytest.importorskip("gymnasium_robotics")
    gymnasium.register_envs(robotics)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # precisions of spaces, versions of environments
        env = gymnasium.make("PointMaze_UMaze-v3")
        write(drive(env), name="test/maze-v0")
        env.close()
    main(["data", "import", "minari", "test/maze-v0", "--output", str(tmp_path / "maze")])
    printed = capsys.readouterr().out
    assert f"note: {ASKED_FOR}" in printed
    assert (
        "'achieved_goal' was left out: it is a copy of coordinates 0 to 1 of the state" in printed
    )
    layout = Store.open(tmp_path / "maze").layout
    assert [(group.name, len(group.indices)) for group in layout.groups] == [
        ("achieved_goal", 2),
        ("observation", 2),
    ]
    assert Query.parse("achieved_goal:0.45", layout).mask.tolist() == [True, True, False, False]
    main(["data", "inspect", str(tmp_path / "maze")])
    assert "nothing suspicious" in capsys.readouterr().out


# Minari leaves a temporary directory to the garbage collector, which says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_minari_itself_collects():
    """Minari's collector appends steps with jax, which few have."""
    pytest.importorskip("jax", reason="minari.DataCollector needs jax")
    robotics = pytest.importorskip("gymnasium_robotics")
    gymnasium.register_envs(robotics)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collector = minari.DataCollector(gymnasium.make("PointMaze_UMaze-v3"))
        for seed in range(3):
            collector.reset(seed=seed)
            for _ in range(10):
                collector.step(collector.action_space.sample())
        data = collector.create_dataset("test/collected-v0")
        collector.close()
    source = Minari.from_dataset(data)
    check_source(source)
    assert source.fields() == (FieldSpec("achieved_goal", 2), FieldSpec("observation", 2))
