"""The npz source: rows and stacks come back as the episodes that went in."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import Npz, SourceError
from goalsets.testing import check_source

LENGTHS = (3, 1, 5)


def make_log(lengths=LENGTHS, seed=0, dim=3):
    """States and actions of ragged episodes: T + 1 states and T actions each."""
    rng = np.random.default_rng(seed)
    return [
        (
            rng.normal(size=(t + 1, dim)).astype(np.float32),
            rng.normal(size=(t, 2)).astype(np.float32),
        )
        for t in lengths
    ]


def ogbench_arrays(log):
    """One row a state; the last action of an episode fills the row."""
    return {
        "observations": np.concatenate([states for states, _ in log]),
        "actions": np.concatenate([np.pad(a, ((0, 1), (0, 0))) for _, a in log]),
        "terminals": np.concatenate([np.eye(len(s))[-1] for s, _ in log]).astype(np.float32),
    }


def d4rl_arrays(log, with_next=True):
    """One row a transition; episodes end by a terminal state or by a timeout."""
    ends = [np.eye(len(actions))[-1].astype(bool) for _, actions in log]
    arrays = {
        "observations": np.concatenate([states[:-1] for states, _ in log]),
        "actions": np.concatenate([actions for _, actions in log]),
        "terminals": np.concatenate([end & (i % 2 == 0) for i, end in enumerate(ends)]),
        "timeouts": np.concatenate([end & (i % 2 == 1) for i, end in enumerate(ends)]),
    }
    if with_next:
        arrays["next_observations"] = np.concatenate([states[1:] for states, _ in log])
    return arrays


def save(path, arrays):
    np.savez(path, **arrays)
    return path


def assert_same(episodes, log):
    episodes = list(episodes)
    assert len(episodes) == len(log)
    for episode, (states, actions) in zip(episodes, log, strict=True):
        np.testing.assert_array_equal(episode.observations, states)
        np.testing.assert_array_equal(episode.actions, actions)
        assert episode.observations.dtype == np.float32


def test_ogbench_rows_come_back(tmp_path):
    source = Npz(save(tmp_path / "log.npz", ogbench_arrays(make_log())), filler=True)
    assert_same(source.episodes(), make_log())
    assert source.fields() == (FieldSpec("", 3),)
    assert not source.has_validation
    assert str(tmp_path / "log.npz") in source.describe()
    assert list(source.notices) == []


def test_d4rl_rows_with_next_observations_come_back_whole(tmp_path):
    source = Npz(save(tmp_path / "log.npz", d4rl_arrays(make_log())))
    check_source(source)
    assert_same(source.episodes(), make_log())
    assert list(source.notices) == []


def test_d4rl_rows_without_next_observations_lose_the_last_action_and_say_so(tmp_path):
    log = make_log()
    source = Npz(save(tmp_path / "log.npz", d4rl_arrays(log, with_next=False)))
    kept = [(states[:-1], actions[:-1]) for states, actions in log if len(actions) > 1]
    for _ in range(2):  # reading again repeats no notice
        assert_same(source.episodes(), kept)
    assert list(source.notices) == [
        "no state follows the last action in this log: that action was dropped (2 episodes).",
        "an episode of a single state has no transition and was left out (1 episode).",
    ]


def test_rows_without_an_end_mark_are_an_episode_with_a_notice(tmp_path):
    arrays = ogbench_arrays(make_log())
    arrays["terminals"][-1] = 0
    source = Npz(save(tmp_path / "log.npz", arrays), filler=True)
    assert_same(source.episodes(), make_log())
    assert "have no mark of an end" in next(iter(source.notices))


def test_a_step_that_leads_elsewhere_is_an_unmarked_end(tmp_path):
    arrays = d4rl_arrays(make_log())
    arrays["terminals"][:] = False
    source = Npz(save(tmp_path / "log.npz", arrays))
    with pytest.raises(
        SourceError, match="row 3 is not the next observation of row 2, yet no episode"
    ):
        list(source.episodes())


def test_nan_passes_through(tmp_path):
    log = make_log()
    log[0][0][1] = np.nan
    assert_same(Npz(save(tmp_path / "a.npz", d4rl_arrays(log))).episodes(), log)


def test_stacked_episodes_come_back(tmp_path):
    log = make_log((4, 4, 4))
    arrays = {
        "observations": np.stack([s for s, _ in log]),
        "actions": np.stack([a for _, a in log]),
    }
    assert_same(Npz(save(tmp_path / "a.npz", arrays)).episodes(), log)


@pytest.mark.parametrize("same_length", [False, True])
def test_padded_stacks_are_cut_to_their_lengths(tmp_path, same_length):
    log = make_log()
    rows = max(LENGTHS) + 1
    arrays = {
        "observations": np.stack([np.pad(s, ((0, rows - len(s)), (0, 0))) for s, _ in log]),
        "actions": np.stack([np.pad(a, ((0, rows - 1 - len(a)), (0, 0))) for _, a in log]),
        "lengths": np.array(LENGTHS),
    }
    expected = log
    if same_length:  # as many states as actions: the last action of an episode has no outcome
        arrays["observations"] = arrays["observations"][:, :-1]
        expected = [(s[:-1], a[:-1]) for s, a in log if len(a) > 1]
    source = Npz(save(tmp_path / "a.npz", arrays))
    assert source.fields() == (FieldSpec("", 3),)
    assert_same(source.episodes(), expected)


def test_several_keys_make_one_vector_in_the_declared_order(tmp_path):
    log = make_log(dim=4)
    arrays = ogbench_arrays(log)
    whole = arrays.pop("observations")
    arrays |= {"pos": whole[:, 1:].astype(np.float64), "speed": whole[:, 0]}
    source = Npz(save(tmp_path / "a.npz", arrays), observations=("speed", "pos"), filler=True)
    assert source.fields() == (FieldSpec("speed", 1), FieldSpec("pos", 3))
    assert_same(source.episodes(), log)


def test_extras_come_along_and_the_rest_is_mentioned(tmp_path):
    arrays = ogbench_arrays(make_log())
    arrays["qpos"] = np.arange(len(arrays["actions"]) * 2.0).reshape(-1, 2)
    arrays["rewards"] = np.zeros(len(arrays["actions"]))
    source = Npz(save(tmp_path / "a.npz", arrays), extras=("qpos",), filler=True)
    episodes = list(source.episodes())
    np.testing.assert_array_equal(
        np.concatenate([e.extras["qpos"] for e in episodes]), arrays["qpos"]
    )
    assert list(source.notices) == ["not read: rewards (to keep values, name 'extras')."]


def test_validation_lies_beside_or_where_it_is_said_to_be(tmp_path):
    train, validation = make_log(), make_log((2,), seed=1)
    path = save(tmp_path / "a.npz", ogbench_arrays(train))
    other = save(tmp_path / "other.npz", ogbench_arrays(validation))
    assert_same(Npz(path, other).episodes("validation"), validation)
    with pytest.raises(SourceError, match="has no validation episodes"):
        next(Npz(path).episodes("validation"))
    save(tmp_path / "a-val.npz", ogbench_arrays(validation))
    source = Npz(path)
    assert source.has_validation
    assert_same(source.episodes("validation"), validation)
    save(tmp_path / "a-val.npz", ogbench_arrays(make_log(dim=5)))
    with pytest.raises(
        SourceError, match=r"a-val.npz: 'observations' has 5 coordinates; expected 3"
    ):
        next(source.episodes("validation"))


def test_episodes_are_views_and_nothing_is_copied(tmp_path):
    episodes = list(
        Npz(save(tmp_path / "a.npz", ogbench_arrays(make_log())), filler=True).episodes()
    )
    assert episodes[0].observations.base is not None
    assert episodes[0].observations.base is episodes[1].observations.base


def change(arrays, key, value):
    return arrays | {key: value}


ROWS = sum(t + 1 for t in LENGTHS)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"actions": np.ones((ROWS - 1, 2))},
            f"'actions' has 11 rows; expected {ROWS}, as 'observations'",
        ),
        (
            {"terminals": np.ones((ROWS, 2))},
            r"'terminals' .* needs one number a row, got shape \(12, 2\)",
        ),
        (
            {"observations": np.ones((ROWS, 8, 8, 3))},
            r"has shape \[12, 8, 8, 3\]: expected vectors",
        ),
        ({"observations": np.ones((0, 3))}, "'actions' has 12 rows; expected 0"),
        (
            {"observations": np.array([None] * ROWS)},
            "holds pickled Python objects, which are never read",
        ),
        ({"observations": np.array(["a"] * ROWS)}, "expected numbers of shape"),
        ({"observations": np.array(3.0)}, "is a single value: expected an array"),
    ],
)
def test_arrays_that_disagree_are_named(tmp_path, arrays, message):
    path = save(tmp_path / "a.npz", ogbench_arrays(make_log()) | arrays)
    with pytest.raises(SourceError, match=message) as caught:
        list(Npz(path).episodes())
    assert str(path) in str(caught.value)


def test_missing_keys_are_named_with_the_near_ones(tmp_path):
    arrays = ogbench_arrays(make_log())
    path = save(tmp_path / "a.npz", arrays | {"action": arrays["actions"]})
    with pytest.raises(
        SourceError, match="has no array 'observation': did you mean 'observations'"
    ):
        list(Npz(path, observations=("observation",)).episodes())
    with pytest.raises(
        SourceError, match="nothing marks the ends of episodes: expected one of 'dones'"
    ):
        list(Npz(path, ends=("dones",)).episodes())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"actions": np.ones((2, 3, 2))},
            "'actions' has 2 episodes x 3 steps; expected 2 episodes x 4 steps or",
        ),
        ({"actions": np.ones((3, 4, 2))}, "'actions' has 3 episodes x 4 steps"),
        ({"lengths": np.array([1, 2, 3])}, "'lengths' has 3 episodes; expected 2 episodes"),
        ({"lengths": np.array([1, 9])}, "episode 1: 'lengths' must be from 0 to 4, got 9"),
    ],
)
def test_stacks_that_disagree_are_named(tmp_path, change, message):
    arrays = {"observations": np.ones((2, 5, 3)), "actions": np.ones((2, 4, 2))} | change
    with pytest.raises(SourceError, match=message):
        list(Npz(save(tmp_path / "a.npz", arrays)).episodes())


@pytest.mark.parametrize("steps", [10, 2000])
def test_files_that_are_not_whole_are_named(tmp_path, steps):
    path = tmp_path / "a.npz"
    with pytest.raises(SourceError, match="there is no file"):
        list(Npz(path).episodes())
    save(path, ogbench_arrays(make_log((steps,))))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(SourceError, match=r"a.npz is not a NumPy archive, or only a part of one"):
        list(Npz(path).episodes())
    damaged = bytearray(whole)
    damaged[200 + steps * 8] ^= 0xFF  # a number of the first array
    path.write_bytes(damaged)
    with pytest.raises(SourceError, match=r"'observations' is damaged.*CRC"):
        list(Npz(path).episodes())
    np.save(tmp_path / "b.npy", np.ones(3))
    with pytest.raises(SourceError, match="is not a NumPy archive"):
        list(Npz(tmp_path / "b.npy").episodes())
