"""Episodes of a program become a store that trains."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import goalsets
import goalsets.data
from goalsets import Episode, GoalsetsError, Group, StateLayout, read_layout
from goalsets.cli import main
from goalsets.data.given import Given
from goalsets.data.store import Store
from goalsets.testing.sources import check_source


def walk(seed, steps=20):
    """A point that goes where its actions say."""
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1, 1, (steps, 2))
    places = np.concatenate([np.zeros((1, 2)), np.cumsum(0.1 * actions, axis=0)])
    return {"observations": places, "actions": actions}


def test_a_layout_is_proposed_and_the_rate_is_kept(tmp_path):
    store = goalsets.data.from_episodes(
        (walk(seed) for seed in range(20)), path=tmp_path / "s", rate=25, names=["x", "y"]
    )
    assert (store.train.num_episodes, store.validation.num_episodes) == (18, 2)
    assert store.rate == 25
    assert store.source == "20 episodes in memory"
    assert [group.name for group in store.layout.groups] == ["x", "y"]
    assert read_layout(tmp_path / "s.layout.yaml") == store.layout
    np.testing.assert_array_equal(
        store.train.episode(0).observations, walk(0)["observations"].astype(np.float32)
    )
    check_source(Given.read([walk(seed) for seed in range(3)]))


def test_names_may_come_with_the_episodes(tmp_path):
    episodes = [walk(seed) | {"names": ("x", "y")} for seed in range(3)]
    store = goalsets.data.from_episodes(episodes, tmp_path / "s", hold_out=0)
    assert [group.name for group in store.layout.groups] == ["x", "y"]


def test_dictionaries_of_arrays_become_groups(tmp_path):
    def log(seed):
        rng = np.random.default_rng(seed)
        return {
            "observations": {
                "arm": {"pos": rng.normal(size=(9, 3)), "open": rng.integers(0, 2, 9)},
                "image": np.zeros((9, 4, 4)),
            },
            "actions": {"arm": rng.normal(size=(8, 2)), "grip": rng.normal(size=8)},
            "extras": {"force": rng.normal(size=(9, 6))},
            "rewards": np.zeros(8),
        }

    store = goalsets.data.from_episodes(map(log, range(4)), tmp_path / "s", hold_out=0)
    assert [(g.name, len(g.indices)) for g in store.layout.groups] == [
        ("arm.open", 1),
        ("arm.pos", 3),
    ]
    assert store.train.actions.shape[1] == 3
    assert store.train.extras["force"].shape == (36, 6)
    assert store.notices == (
        "not read: rewards (to keep values, put them into 'extras').",
        "observation 'image' was left out: it is not a vector of numbers.",
    )


def test_episodes_lists_and_a_last_state_that_is_missing(tmp_path):
    plain = walk(0)
    given = [
        Episode(plain["observations"], plain["actions"]),
        {"observations": plain["observations"].tolist(), "actions": plain["actions"].tolist()},
        {"observations": plain["observations"][:-1], "actions": plain["actions"]},
    ]
    store = goalsets.data.from_episodes(given, tmp_path / "s", hold_out=0)
    assert store.train.lengths.tolist() == [20, 20, 19]
    assert "that action was dropped (1 episode)" in store.notices[0]


def test_a_layout_of_ones_own(tmp_path):
    layout = StateLayout(2, [Group("place", (0, 1), tolerance=0.1)], task="place", name="mine")
    store = goalsets.data.from_episodes([walk(0)], tmp_path / "s", layout=layout)
    assert store.layout == layout
    assert not (tmp_path / "s.layout.yaml").exists()


LONE = np.zeros((5, 2))
WRONG = {
    "no dictionary": (
        [LONE],
        "episode 0: expected a dictionary with 'observations' and 'actions', got ndarray",
    ),
    "one episode": (walk(0), "expected several episodes, such as a list of them, got dict"),
    "no episode": ([], "there are no episodes with a transition"),
    "a key": (
        [walk(0), {"observation": LONE, "actions": LONE}],
        "episode 1 has no 'observations': did you mean 'observation'",
    ),
    "empty": ([{}], "episode 0 has no 'observations': it is empty"),
    "text": (
        [{"observations": ["a", "b"], "actions": LONE}],
        "episode 0: no observation key holds vectors .* Expected observations \\[T \\+ 1, D\\]",
    ),
    "images": ([{"observations": np.zeros((5, 8, 8)), "actions": LONE}], r"has shape \(8, 8\)"),
    "steps": (
        [{"observations": LONE, "actions": np.zeros((7, 2))}],
        "episode 0: expected as many actions as states, or one less; got 5 states and 7 actions",
    ),
    "actions": (
        [{"observations": LONE, "actions": np.zeros((4, 2, 2))}],
        "episode 0, actions: .* Expected actions \\[T, A\\]",
    ),
    "part of the actions": (
        [{"observations": LONE, "actions": {"a": LONE, "b": np.zeros((5, 2, 2))}}],
        "episode 0: actions 'b' are not vectors of numbers",
    ),
    "rows": (
        [{"observations": {"a": LONE, "b": LONE[:3]}, "actions": LONE}],
        "episode 0, observations: 'b' has 3 rows, but 'a' has 5",
    ),
    "another dimension": (
        [walk(0), {"observations": np.zeros((5, 3)), "actions": LONE}],
        "episode 1 has observations of 3 coordinates; expected observations of 2 coordinates",
    ),
    "other actions": (
        [walk(0), {"observations": LONE, "actions": np.zeros((4, 3))}],
        "episode 1: its actions have 3 components; expected 2, as in earlier episodes",
    ),
    "names": ([walk(0) | {"names": ["x"]}], "got 1 names for 2 coordinates"),
    "names of several": (
        [{"observations": {"a": LONE, "b": LONE}, "actions": LONE, "names": ["x"]}],
        "names can be given for one array of observations only, got 2 arrays",
    ),
    "gaps": (
        [{"observations": np.full((5, 2), np.nan), "actions": LONE}],
        "episode 0: 10 values of its observations are not finite",
    ),
    "extras": (
        [{"observations": LONE, "actions": LONE, "extras": {"force": np.zeros(3)}}],
        "'force' needs a value for each of the 5 states, got 3",
    ),
    "extras in a list": (
        [{"observations": LONE, "actions": LONE, "extras": [1]}],
        "expected 'extras' as a dictionary of arrays, got list",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_is_explained(tmp_path, what):
    given, match = WRONG[what]
    with pytest.raises(GoalsetsError, match=match):
        goalsets.data.from_episodes(given, tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_whoever_reads_a_store_imports_no_source():
    code = "import sys, goalsets.data.store; print('goalsets.data.sources' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.full
def test_the_store_trains(tmp_path, capsys):
    goalsets.data.from_episodes([walk(seed) for seed in range(12)], tmp_path / "s", rate=10)
    words = ["train", str(tmp_path / "s"), "--output", str(tmp_path / "run"), "--horizon", "10"]
    short = "--steps 20 --batch-size 32 --hidden 32 --threads 1 --evaluate never"
    main([*words, *short.split()])
    capsys.readouterr()
    assert json.loads((tmp_path / "run" / "config.json").read_text())
    start = Store.open(tmp_path / "s").train.observations[0]
    policy = goalsets.load(tmp_path / "run")
    assert policy.act(start, start, "state").shape == (2,)
