"""What holds for every dataset source: lazy libraries, errors that help, notices said once."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from goalsets.core import GoalsetsError
from goalsets.data.sources import (
    SOURCES,
    Hdf5,
    LeRobot,
    Minari,
    MissingExtraError,
    Notices,
    Parquet,
    Ros,
)
from goalsets.data.sources.base import SourceError, check_split, make_episode, natural
from goalsets.testing.sources import check_settings

EXTRAS = ("h5py", "minari", "pyarrow", "rosbags", "mcap", "huggingface_hub", "ogbench", "torch")


def test_the_registry_names_the_near_source():
    with pytest.raises(GoalsetsError, match=r"unknown dataset source 'lerobt'.*'lerobot'"):
        SOURCES["lerobt"]


def test_importing_the_sources_imports_no_extra():
    code = (
        "import sys, goalsets.data.sources, goalsets.data.propose\n"
        f"print([name for name in {EXTRAS!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", list(SOURCES))
def test_a_source_is_a_frozen_dataclass_with_a_docstring_under_each_setting(name):
    check_settings(SOURCES[name])


@pytest.mark.parametrize(
    ("source", "module", "extra"),
    [
        (lambda path: Hdf5(path / "a.hdf5"), "h5py", "hdf5"),
        (lambda path: Minari(str(path)), "minari", "minari"),
        (lambda path: LeRobot(str(path)), "pyarrow.parquet", "lerobot"),
        (lambda path: Parquet(path / "meta/info.json"), "pyarrow.parquet", "parquet"),
        (lambda path: Ros(path / "meta/info.json"), "rosbags.highlevel", "ros"),
        (lambda _: LeRobot("a/b", download=True), "huggingface_hub", "hub"),
    ],
)
def test_a_missing_library_names_the_extra(source, module, extra, tmp_path, monkeypatch):
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text('{"codebase_version": "v3.0", "features": {}}')
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "goalsets\[{extra}\]"'):
        source(tmp_path).fields()


def test_notices_say_each_thing_once():
    notices = Notices()
    for _ in range(2):  # reading twice adds nothing
        notices.add("dropped", "episode 0")
        notices.add("dropped", "episode 1")
        notices.add("skipped")
    other = Notices()
    other.add("dropped", "episode 7")
    notices.join(other)
    assert list(notices) == ["dropped (3 episodes).", "skipped."]
    assert len(notices) == 2


def test_an_episode_without_a_transition_is_left_out_with_a_notice():
    notices = Notices()
    one = np.zeros((1, 2), np.float32)
    assert make_episode("log, episode 3", one, one, {}, notices) is None
    assert list(notices) == [
        "an episode of a single state has no transition and was left out (1 episode)."
    ]


def test_lengths_that_disagree_are_errors():
    states, actions = np.zeros((4, 2), np.float32), np.zeros((6, 1), np.float32)
    with pytest.raises(SourceError, match=r"log, episode 3: .* got 4 states and 6 actions"):
        make_episode("log, episode 3", states, actions, {}, Notices())
    with pytest.raises(SourceError, match="'qpos' needs a value for each of the 4 states, got 3"):
        make_episode("log", states, actions[:3], {"qpos": actions[:3]}, Notices())
    with pytest.raises(SourceError, match="'task' must hold numbers, got"):
        make_episode("log", states, actions[:3], {"task": np.array(["go"] * 4)}, Notices())


def test_splits_are_checked():
    with pytest.raises(SourceError, match=r"unknown split 'validate'.*'validation'"):
        check_split("validate", True, "log")
    with pytest.raises(SourceError, match="log has no validation episodes"):
        check_split("validation", False, "log")


def test_names_sort_by_their_numbers():
    names = ["demo_10", "demo_2", "a", "demo_1", "10"]
    assert sorted(names, key=natural) == ["10", "a", "demo_1", "demo_2", "demo_10"]
