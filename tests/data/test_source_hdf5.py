"""The hdf5 source: robomimic's files and D4RL's, written with h5py, come back as they were."""

from __future__ import annotations

import json

import numpy as np
import pytest

from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import Hdf5, SourceError, known_rate
from goalsets.testing import check_source

h5py = pytest.importorskip("h5py")

LENGTHS = {"demo_0": 3, "demo_1": 1, "demo_2": 6, "demo_10": 4}
KEYS = ("robot0_eef_pos", "robot0_gripper", "object")


def make_log(seed=0):
    """For each episode T + 1 states by key, and T actions."""
    rng = np.random.default_rng(seed)
    return {
        name: (
            {
                "robot0_eef_pos": rng.normal(size=(t + 1, 3)),
                "robot0_gripper": rng.normal(size=t + 1),
                "object": rng.normal(size=(t + 1, 2)),
            },
            rng.normal(size=(t, 7)),
        )
        for name, t in LENGTHS.items()
    }


def flat(states, keys=("object", "robot0_eef_pos", "robot0_gripper")):
    return np.concatenate([states[k].reshape(len(states[k]), -1) for k in keys], axis=1).astype(
        np.float32
    )


@pytest.fixture
def robomimic(tmp_path):
    """A file as robomimic's scripts write it: T rows of obs and next_obs, images, masks."""
    path = tmp_path / "low_dim.hdf5"
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["total"] = sum(LENGTHS.values())
        for name, (states, actions) in make_log().items():
            demo = data.create_group(name)
            demo.attrs["num_samples"] = len(actions)
            demo["actions"] = actions
            demo["states"] = np.arange(len(actions) * 2.0).reshape(-1, 2)
            for key, values in states.items():
                demo[f"obs/{key}"] = values[:-1]
                demo[f"next_obs/{key}"] = values[1:]
            demo["obs/agentview_image"] = np.zeros((len(actions), 4, 4, 3), np.uint8)
        file["mask/train"] = np.array(["demo_10", "demo_0", "demo_1"], dtype="S8")
        file["mask/valid"] = np.array(["demo_2"], dtype="S8")
    return path


def edit(path, change):
    with h5py.File(path, "a") as file:
        change(file)


def test_robomimic_episodes_come_back_in_natural_order(robomimic):
    edit(robomimic, lambda file: file.__delitem__("mask"))
    source = Hdf5(robomimic)
    assert not source.has_validation
    episodes = list(source.episodes())
    assert [len(e) for e in episodes] == list(LENGTHS.values())
    for episode, (states, actions) in zip(episodes, make_log().values(), strict=True):
        np.testing.assert_array_equal(episode.observations, flat(states))
        np.testing.assert_array_equal(episode.actions, actions.astype(np.float32))
    assert list(source.notices) == [
        "observation 'agentview_image' was left out: it is not a vector of numbers."
    ]
    assert source.describe() == f"robomimic file {robomimic} with 4 episodes"


def test_robomimic_masks_are_the_splits(robomimic):
    source = Hdf5(robomimic)
    check_source(source)
    assert source.has_validation
    assert [len(e) for e in source.episodes()] == [3, 1, 4]
    assert [len(e) for e in source.episodes("validation")] == [6]
    edit(robomimic, lambda file: file["mask"].__delitem__("train"))
    assert [len(e) for e in source.episodes()] == [3, 1, 4]
    edit(robomimic, lambda file: file.create_dataset("mask/train", data=np.array(["demo_3"], "S8")))
    with pytest.raises(
        SourceError, match="mask/train lists 'demo_3', but there is no such episode: did you mean"
    ):
        list(source.episodes())


def test_the_declared_order_is_the_order_of_the_vector(robomimic):
    source = Hdf5(robomimic, observations=KEYS)
    assert source.fields() == (
        FieldSpec("robot0_eef_pos", 3),
        FieldSpec("robot0_gripper", 1),
        FieldSpec("object", 2),
    )
    np.testing.assert_array_equal(
        next(source.episodes()).observations, flat(make_log()["demo_0"][0], KEYS)
    )
    assert list(source.notices) == []


def test_without_next_obs_the_last_action_is_dropped_with_a_notice(robomimic):
    source = Hdf5(robomimic, use_next=False)
    states, actions = make_log()["demo_0"]
    episodes = list(source.episodes())
    np.testing.assert_array_equal(episodes[0].observations, flat(states)[:-1])
    np.testing.assert_array_equal(episodes[0].actions, actions[:-1].astype(np.float32))
    assert [len(e) for e in episodes] == [2, 3]
    assert "that action was dropped (2 episodes)." in " ".join(source.notices)
    assert "single state has no transition and was left out (1 episode)." in " ".join(
        source.notices
    )


def test_extras_have_a_value_for_each_state(robomimic):
    episode = next(Hdf5(robomimic, extras=("states",)).episodes())
    assert len(episode) == 2
    np.testing.assert_array_equal(episode.extras["states"], np.arange(6.0).reshape(-1, 2))


def test_nested_observations_have_dotted_keys(tmp_path):
    with h5py.File(tmp_path / "a.hdf5", "w") as file:
        file["data/demo_0/actions"] = np.ones((2, 1))
        file["data/demo_0/obs/arm/vel"] = np.full((3, 2), 2.0)
        file["data/demo_0/obs/arm/pos"] = np.ones(3)
    source = Hdf5(tmp_path / "a.hdf5")
    assert source.fields() == (FieldSpec("arm.pos", 1), FieldSpec("arm.vel", 2))
    assert next(source.episodes()).observations.tolist() == [[1, 2, 2]] * 3


def replace(file, key, value):
    del file[key]
    if value is not None:
        file[key] = value


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("data/demo_2/actions", np.ones((9, 7)), "data/demo_2: .* got 6 states and 9 actions"),
        ("data/demo_2/actions", None, "/data/demo_2 has no 'actions'"),
        ("data/demo_2/obs", None, "/data/demo_2 has no 'obs'"),
        ("data/demo_2/obs/object", None, "/data/demo_2/obs: the observation has no 'object'"),
        (
            "data/demo_2/obs/object",
            np.ones((6, 5)),
            r"/data/demo_2/obs: 'object' needs 2 coordinates, got shape \(5,\)",
        ),
        (
            "data/demo_2/obs/object",
            np.ones((5, 2)),
            "'robot0_eef_pos' has 6 rows, but 'object' has 5",
        ),
        (
            "data/demo_2/next_obs/object",
            None,
            "/data/demo_2/next_obs: the observation has no 'object'",
        ),
        (
            "data/demo_2/actions",
            np.ones((6, 2, 2)),
            r"/data/demo_2/actions: expected numbers .* \[6, 2, 2\]",
        ),
    ],
)
def test_episodes_that_disagree_are_named(robomimic, key, value, message):
    edit(robomimic, lambda file: replace(file, key, value))
    with pytest.raises(SourceError, match=message) as caught:
        list(Hdf5(robomimic).episodes("validation"))
    assert str(robomimic) in str(caught.value)


def test_keys_that_cannot_be_are_explained(robomimic):
    with pytest.raises(
        SourceError, match="unknown observation key 'objects': did you mean 'object'"
    ):
        Hdf5(robomimic, observations=("objects",)).fields()
    with pytest.raises(SourceError, match="'agentview_image' has shape .* expected a vector"):
        Hdf5(robomimic, observations=("agentview_image",)).fields()
    with pytest.raises(SourceError, match="has no 'state': did you mean 'states'"):
        list(Hdf5(robomimic, extras=("state",)).episodes())


@pytest.fixture
def d4rl(tmp_path):
    """A file as D4RL has them: rows, with infos in a group."""
    log = make_log().values()
    ends = [np.eye(len(actions))[-1].astype(bool) for _, actions in log]
    with h5py.File(tmp_path / "d4rl.hdf5", "w") as file:
        file["observations"] = np.concatenate([flat(states)[:-1] for states, _ in log])
        file["actions"] = np.concatenate([actions for _, actions in log])
        file["terminals"] = np.concatenate(ends) & (np.arange(14) < 5)
        file["timeouts"] = np.concatenate(ends) & (np.arange(14) >= 5)
        file["infos/qpos"] = np.arange(14.0)[:, None]
        file["rewards"] = np.zeros(14)
    return tmp_path / "d4rl.hdf5"


def test_flat_files_without_next_observations_lose_the_last_action(d4rl):
    source = Hdf5(d4rl, extras=("infos/qpos",))
    assert source.fields() == (FieldSpec("", 6),)
    assert "flat HDF5 file" in source.describe()
    episodes = list(source.episodes())
    expected = [pair for pair in make_log().values() if len(pair[1]) > 1]
    for episode, (states, actions) in zip(episodes, expected, strict=True):
        np.testing.assert_array_equal(episode.observations, flat(states)[:-1])
        np.testing.assert_array_equal(episode.actions, actions[:-1].astype(np.float32))
    assert episodes[1].extras["infos/qpos"].ravel().tolist() == [4, 5, 6, 7, 8, 9]
    assert "that action was dropped (3 episodes)." in next(iter(source.notices))


def test_flat_files_with_next_observations_come_back_whole(d4rl):
    following = np.concatenate([flat(states)[1:] for states, _ in make_log().values()])
    edit(d4rl, lambda file: file.create_dataset("next_observations", data=following))
    source = Hdf5(d4rl)
    for episode, (states, actions) in zip(source.episodes(), make_log().values(), strict=True):
        np.testing.assert_array_equal(episode.observations, flat(states))
        np.testing.assert_array_equal(episode.actions, actions.astype(np.float32))
    assert list(source.notices) == []


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("actions", np.ones((13, 7)), "'actions' has 13 rows; expected 14, as 'observations' has"),
        ("observations", np.ones((14, 8, 8, 3)), r"'observations' has shape \[14, 8, 8, 3\]"),
        ("observations", None, "has no 'observations'"),
    ],
)
def test_flat_files_that_disagree_are_named(d4rl, key, value, message):
    edit(d4rl, lambda file: replace(file, key, value))
    with pytest.raises(SourceError, match=message):
        list(Hdf5(d4rl).episodes())


def test_files_that_are_no_logs_are_named(tmp_path, robomimic):
    with pytest.raises(SourceError, match="there is no file"):
        list(Hdf5(tmp_path / "none.hdf5").episodes())
    whole = robomimic.read_bytes()
    robomimic.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        SourceError, match="low_dim.hdf5 is not an HDF5 file, or is damaged: .*truncated"
    ):
        list(Hdf5(robomimic).episodes())
    with h5py.File(tmp_path / "empty.hdf5", "w") as file:
        file["observations"] = np.ones((2, 2))
    with pytest.raises(
        SourceError, match="expected a group 'data' .robomimic. or one of 'terminals'"
    ):
        list(Hdf5(tmp_path / "empty.hdf5").episodes())
    with h5py.File(tmp_path / "empty.hdf5", "w") as file:
        file.create_group("data")
    with pytest.raises(SourceError, match="the group 'data' holds no episodes"):
        list(Hdf5(tmp_path / "empty.hdf5").episodes())


def test_the_control_frequency_of_robomimic_is_the_rate(robomimic):
    assert known_rate(Hdf5(robomimic)) is None
    with h5py.File(robomimic, "a") as file:
        file["data"].attrs["env_args"] = json.dumps({"env_kwargs": {"control_freq": 20}})
    assert known_rate(Hdf5(robomimic)) == 20
    assert known_rate(Hdf5(robomimic, rate=50)) == 50
    with h5py.File(robomimic, "a") as file:
        file["data"].attrs["env_args"] = "none"
    assert known_rate(Hdf5(robomimic)) is None
