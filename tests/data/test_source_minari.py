"""The minari source reads what Minari itself recorded, dictionaries included."""

from __future__ import annotations

import json
import warnings

import gymnasium
import numpy as np
import pytest

from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import Minari, SourceError
from goalsets.testing import check_source

minari = pytest.importorskip("minari")
h5py = pytest.importorskip("h5py")

LENGTHS = (3, 1, 5)
IDS = {"dict": "test/dict-v0", "box": "test/box-v0"}


class DictEnv(gymnasium.Env):
    """Nested observations, with an image and a discrete mode; episodes of the lengths above."""

    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    observation_space = gymnasium.spaces.Dict(
        {
            "image": gymnasium.spaces.Box(0, 255, (32, 32, 3), np.uint8),
            "arm": gymnasium.spaces.Dict(
                {
                    "pos": gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64),
                    "grip": gymnasium.spaces.Box(-np.inf, np.inf, (), np.float32),
                }
            ),
            "mode": gymnasium.spaces.Discrete(4),
        }
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = LENGTHS[seed]
        return self.look(), {}

    def step(self, action):
        self.left -= 1
        return self.look(), 0.0, self.left == 0, False, {}

    def look(self):
        return {
            "image": np.zeros((32, 32, 3), np.uint8),
            "arm": {
                "pos": self.np_random.normal(size=3),
                "grip": np.asarray(self.np_random.normal(), np.float32),
            },
            "mode": np.int64(self.left % 4),
        }


@pytest.fixture(autouse=True)
def own_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "minari"))
    return tmp_path / "minari"


def record():
    """Let Minari write the episodes, and keep what the environment said.

    Minari's DataCollector would do the same step by step, but it needs jax to append to a list.
    """
    env, log, buffers = DictEnv(), [], []
    for seed, length in enumerate(LENGTHS):
        env.action_space.seed(seed)
        states, actions = [env.reset(seed=seed)[0]], []
        for _ in range(length):
            actions.append(env.action_space.sample())
            states.append(env.step(actions[-1])[0])
        log.append((states, actions))
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                id=seed,
                observations=stack(states),
                actions=actions,
                rewards=[0.0] * length,
                terminations=[False] * (length - 1) + [True],
                truncations=[False] * length,
            )
        )
    minari.create_dataset_from_buffers(
        IDS["dict"],
        buffers,
        observation_space=env.observation_space,
        action_space=env.action_space,
        description="a test",
    )
    return log


def stack(states):
    """A dictionary of lists out of a list of dictionaries, as Minari wants it."""
    first = states[0]
    if not isinstance(first, dict):
        return states
    return {key: stack([state[key] for state in states]) for key in first}


@pytest.fixture
def recorded():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # authors and so on, which Minari would like to know
        return record()


def vector(state, order):
    entries = {
        "arm.pos": state["arm"]["pos"],
        "arm.grip": state["arm"]["grip"],
        "mode": state["mode"],
    }
    return np.concatenate([np.atleast_1d(entries[key]) for key in order]).astype(np.float32)


@pytest.mark.parametrize("order", [(), ("mode", "arm.pos"), ("arm.pos", "arm.grip", "mode")])
def test_dictionaries_come_back_in_the_declared_order(recorded, order):
    source = Minari(IDS["dict"], observations=order)
    check_source(source)
    keys = order or ("arm.grip", "arm.pos", "mode")
    sizes = {"arm.pos": 3, "arm.grip": 1, "mode": 1}
    assert source.fields() == tuple(FieldSpec(key, sizes[key]) for key in keys)
    episodes = list(source.episodes())
    assert [len(e) for e in episodes] == list(LENGTHS)
    for episode, (states, actions) in zip(episodes, recorded, strict=True):
        np.testing.assert_array_equal(episode.observations, [vector(s, keys) for s in states])
        np.testing.assert_array_equal(episode.actions, actions)
        assert episode.observations.dtype == np.float32
    left_out = ["observation 'image' was left out: it is not a vector of numbers."]
    assert list(source.notices) == ([] if order else left_out)


def test_a_directory_will_do(recorded, own_datasets):
    directory = own_datasets / IDS["dict"]
    for path in (directory, directory / "data"):
        assert [len(e) for e in Minari(str(path)).episodes()] == list(LENGTHS)
    assert "with 3 episodes" in Minari(str(directory)).describe()


def write_box(observations, actions, observation_space, action_space, infos=None):
    buffer = minari.data_collector.EpisodeBuffer(
        id=0,
        observations=observations,
        actions=actions,
        rewards=[0.0] * len(actions),
        terminations=[False] * len(actions),
        truncations=[False] * len(actions),
        infos=infos,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # authors and so on, which Minari would like to know
        minari.create_dataset_from_buffers(
            IDS["box"],
            [buffer],
            observation_space=observation_space,
            action_space=action_space,
            description="a test",
        )


def test_plain_vectors_discrete_actions_and_infos():
    box = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    states = np.arange(8, dtype=np.float32).reshape(4, 2)
    infos = {"qpos": np.arange(4.0), "deep": {"x": np.ones((4, 2))}}
    write_box(states, np.array([2, 0, 1]), box, gymnasium.spaces.Discrete(3), infos)
    source = Minari(IDS["box"], extras=("qpos", "deep.x"))
    assert source.fields() == (FieldSpec("", 2),)
    (episode,) = source.episodes()
    np.testing.assert_array_equal(episode.observations, states)
    assert episode.actions.tolist() == [[2], [0], [1]]
    assert episode.extras["qpos"].tolist() == [0, 1, 2, 3]
    assert list(source.notices) == ["actions are discrete: they were read as plain numbers."]
    with pytest.raises(SourceError, match="infos have no 'qpo': did you mean 'qpos'"):
        list(Minari(IDS["box"], extras=("qpo",)).episodes())


def test_there_is_no_validation(recorded):
    source = Minari(IDS["dict"])
    assert not source.has_validation
    with pytest.raises(SourceError, match="has no validation episodes"):
        next(source.episodes("validation"))


def test_a_data_set_that_is_not_here_is_explained(recorded):
    with pytest.raises(
        SourceError,
        match=r"not on this machine \(local ones: test/dict-v0\).*minari download test/dct-v0",
    ):
        Minari("test/dct-v0").fields()


def test_keys_that_cannot_be_are_explained(recorded):
    with pytest.raises(
        SourceError, match="unknown observation key 'arm.poss': did you mean 'arm.pos'"
    ):
        Minari(IDS["dict"], observations=("arm.poss",)).fields()
    with pytest.raises(SourceError, match="'image' has shape .* expected a vector"):
        Minari(IDS["dict"], observations=("image",)).fields()


def test_damaged_data_sets_are_named(recorded, own_datasets):
    data = own_datasets / IDS["dict"] / "data"
    with h5py.File(data / "main_data.hdf5", "a") as file:
        actions = file["episode_2/actions"][:-1]
        del file["episode_2/actions"]
        file["episode_2/actions"] = actions[:-1]
    with pytest.raises(
        SourceError, match="'test/dict-v0', episode 2: .* got 6 states and 3 actions"
    ):
        list(Minari(IDS["dict"]).episodes())
    with h5py.File(data / "main_data.hdf5", "a") as file:
        del file["episode_1"]
    with pytest.raises(SourceError, match="episode 1 of 3 is missing or damaged"):
        list(Minari(IDS["dict"]).episodes())
    whole = (data / "main_data.hdf5").read_bytes()
    (data / "main_data.hdf5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match="episode 0 of 3 is missing or damaged .*truncated"):
        list(Minari(IDS["dict"]).episodes())
    metadata = json.loads((data / "metadata.json").read_text())
    (data / "metadata.json").write_text(json.dumps(metadata | {"minari_version": "9.9.9"}))
    with pytest.raises(SourceError, match="cannot read the Minari data set .*9.9.9"):
        Minari(IDS["dict"]).fields()
    (data / "metadata.json").write_text(json.dumps(metadata | {"total_episodes": 1 << 31}))
    with pytest.raises(SourceError, match="2,147,483,648, but the files .* have only"):
        Minari(str(data.parent)).fields()
