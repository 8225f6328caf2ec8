"""Whole collections: files that OGBench reads, the same bytes however they came about."""

from __future__ import annotations

import json
import platform
import shutil
from dataclasses import replace

import numpy as np
import ogbench
import pytest

from goalsets.cli.data_collect import collect as command
from goalsets.collect import (
    RECIPES,
    CollectError,
    Collection,
    CollectStopped,
    collect,
    shards,
)
from goalsets.collect.progress import CollectScreen
from tests.data.collecting import MAZE, SHORT, Notes, contents, small


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Collection:
    """A small data set, collected by one worker without a disturbance."""
    return small(tmp_path_factory.mktemp("undisturbed"))


@pytest.mark.full
def test_ogbench_loads_it(done):
    with np.load(done.train) as file:
        stored = dict(file)
    assert {key: str(array.dtype) for key, array in stored.items()} == {
        "observations": "float32",
        "actions": "float32",
        "terminals": "bool",
        "qpos": "float32",
        "qvel": "float32",
    }
    assert np.flatnonzero(stored["terminals"]).tolist() == [49, 99, 149, 199]
    env, train, validation = ogbench.make_env_and_datasets(
        MAZE, dataset_path=str(done.train), add_info=True
    )
    assert env.observation_space.shape == train["observations"].shape[1:]
    assert len(train["observations"]) == 4 * 49
    assert len(validation["observations"]) == 49
    keep = ~stored["terminals"]
    np.testing.assert_array_equal(train["observations"], stored["observations"][keep])
    np.testing.assert_array_equal(train["actions"], stored["actions"][keep])
    np.testing.assert_array_equal(train["qpos"], stored["qpos"][keep])
    compact = ogbench.load_dataset(done.train, compact_dataset=True)
    np.testing.assert_array_equal(compact["observations"], stored["observations"])


@pytest.mark.full
def test_sidecar_says_where_it_comes_from(done):
    about = json.loads(done.about.read_text())
    assert about["origin"] == "collected"
    assert about["seed"] == 0
    assert about["episodes"] == {"train": 4, "validation": 1}
    assert about["steps"] == {"train": 200, "validation": 50}
    assert about["recipe"]["noise"] == 0.5
    assert about["versions"].keys() == {"goalsets", "ogbench", "mujoco", "numpy"}
    assert done.collected == 5
    assert sorted(path.name for path in done.train.parent.iterdir()) == [
        f"{MAZE}-val.npz",
        f"{MAZE}.json",
        f"{MAZE}.npz",
    ]


@pytest.mark.full
def test_number_of_workers_does_not_matter(done, tmp_path):
    assert contents(small(tmp_path, workers=2)) == contents(done)


@pytest.mark.full
def test_seed_matters_and_validation_is_apart(done, tmp_path):
    other = small(tmp_path, seed=1)
    assert other.train.read_bytes() != done.train.read_bytes()
    train, validation = np.load(done.train), np.load(done.validation)
    assert not (validation["observations"][0] == train["observations"]).all(-1).any()


@pytest.mark.full
def test_a_larger_set_begins_as_a_smaller_one(done, tmp_path):
    larger, smaller = np.load(small(tmp_path, episodes=6).train), np.load(done.train)
    for key in smaller:
        np.testing.assert_array_equal(larger[key][:200], smaller[key])


@pytest.mark.full
def test_a_set_grows_to_the_bytes_of_a_larger_one(done, tmp_path):
    before = shutil.copytree(done.train.parent, tmp_path / "grown")
    grown = small(before, episodes=12)
    assert grown.collected == 8, "only what was missing"
    assert contents(grown) == contents(small(tmp_path / "whole", episodes=12))
    assert len(list(before.iterdir())) == 3, "nothing is left over"
    with pytest.raises(CollectError, match=r"episodes\.train is 12, not 4\. Use --force"):
        small(before)


@pytest.mark.full
def test_growth_that_is_stopped_loses_nothing(done, tmp_path, monkeypatch):
    place = shutil.copytree(done.train.parent, tmp_path / "grown")
    monkeypatch.setattr(shards, "INTERVAL", 0.0)

    class Stop(Notes):
        def episode(self, steps: int) -> None:
            raise KeyboardInterrupt

    with pytest.raises(CollectStopped, match="of 13 episodes are kept"):
        small(place, episodes=12, watch=Stop())
    again = small(place)
    assert again.collected == 0, "what was there before is there"
    assert contents(again) == contents(done)
    notes = Notes()
    small(place, episodes=12, watch=notes)
    assert notes.finished > 5, "growth goes on where it was"


@pytest.mark.full
def test_data_of_other_versions_does_not_grow(done, tmp_path):
    place = shutil.copytree(done.train.parent, tmp_path / "grown")
    about = place / done.about.name
    about.write_text(about.read_text().replace('"mujoco": "', '"mujoco": "0.'))
    with pytest.raises(CollectError, match=r"not 12; versions\.mujoco is 0\."):
        small(place, episodes=12)


@pytest.mark.full
def test_manipulation_with_one_and_two_workers(tmp_path):
    name = "puzzle-3x3-noisy-v0"
    recipe = replace(RECIPES[name], length=25)
    one = collect(name, episodes=3, workers=1, output=tmp_path / "1", recipe=recipe)
    two = collect(name, episodes=3, workers=2, output=tmp_path / "2", recipe=recipe)
    assert contents(one) == contents(two)
    train, _ = ogbench.make_env_and_datasets(
        name, dataset_path=str(one.train), dataset_only=True, add_info=True
    )
    assert train["button_states"].shape == (3 * 24, 9)
    assert train["button_states"].dtype == np.int64


@pytest.mark.full
def test_what_is_there_is_left_alone(done, monkeypatch):
    monkeypatch.setattr("goalsets.collect.run.Crew", None)
    before = done.train.stat().st_mtime_ns
    again = small(done.train.parent)
    assert again.collected == 0
    assert done.train.stat().st_mtime_ns == before


@pytest.mark.full
def test_another_data_set_is_an_error_unless_forced(tmp_path):
    small(tmp_path, episodes=1)
    with pytest.raises(CollectError, match=r"differs: seed is 0, not 2\. Use --force to replace"):
        small(tmp_path, episodes=1, seed=2)
    with pytest.raises(CollectError, match=r"recipe\.length is 50, not 60"):
        small(tmp_path, episodes=1, recipe=replace(SHORT, length=60))
    forced = small(tmp_path, episodes=1, seed=2, force=True)
    assert forced.content()["seed"] == 2
    forced.validation.unlink()
    with pytest.raises(CollectError, match=rf"lacks {MAZE}-val\.npz"):
        small(tmp_path, episodes=1, seed=2)


def test_a_download_is_not_overwritten(tmp_path):
    (tmp_path / f"{MAZE}.npz").write_bytes(b"downloaded")
    with pytest.raises(CollectError, match="it was downloaded, or is not complete"):
        small(tmp_path)


@pytest.mark.full
def test_command_line_says_where_and_what_next(done, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(RECIPES._entries, MAZE, SHORT)
    command(MAZE, episodes=4, workers=1, output=tmp_path)
    printed = capsys.readouterr().out
    assert printed.startswith(f"collected {tmp_path / MAZE}.npz")
    assert f"next: goalsets data import ogbench {MAZE} --directory {tmp_path}" in printed
    command(MAZE, episodes=4, workers=1, output=tmp_path)
    assert capsys.readouterr().out.startswith("already there:")


def test_progress_without_a_terminal():
    from rich.console import Console

    console = Console(record=True, force_terminal=False, width=200)
    with CollectScreen(console, interval=0.0) as screen:
        screen.begin(finished=3, total=10)
        screen.episode(1001)
        screen.say("a worker died [sic]")
    text = console.export_text()
    assert "continuing: 3 of 10 episodes are already collected." in text
    assert "4 of 10 episodes, " in text
    assert " steps/s, 0:0" in text
    assert "[sic]" in text


def test_progress_on_a_terminal(capsys):
    from rich.console import Console

    console = Console(force_terminal=True, width=120)
    with CollectScreen(console) as screen:
        screen.begin(finished=0, total=10)
        screen.episode(1001)
    assert "1/10" in capsys.readouterr().out


@pytest.mark.full
@pytest.mark.skipif(platform.machine() != "x86_64", reason="about kinds of x86 processors")
def test_the_kind_of_processor_does_not_matter(tmp_path, monkeypatch):
    # For an arm's sines and its linear algebra, NumPy has code of its own for each kind.
    recipe = replace(RECIPES["cube-single-play-v0"], length=100)
    found = []
    for kind, without in (("Nehalem", "X86_V4"), ("Haswell", "")):
        monkeypatch.setenv("OPENBLAS_CORETYPE", kind)
        monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", without)
        done = collect(
            "cube-single-play-v0", output=tmp_path / kind, episodes=1, recipe=recipe, workers=1
        )
        with np.load(done.train) as file:
            found.append(file["qpos"])
    np.testing.assert_array_equal(*found)
