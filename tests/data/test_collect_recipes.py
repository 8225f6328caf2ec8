"""Recipes: what can be collected, how OGBench did it, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from goalsets.collect import RECIPES, CollectError, collect, recipe_for
from goalsets.core import GoalsetsError
from goalsets.data.paths import data_dir
from goalsets.envs.tasks import TASKS


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_for_the_environment_of_its_task(name):
    assert RECIPES[name].env_id == TASKS[name].env_id
    assert name.endswith(f"-{RECIPES[name].behaviour}-v0")


def test_all_data_of_an_environment_can_be_collected_or_none():
    collected = {recipe.env_id for _, recipe in RECIPES.items()}
    of_them = {name for name, task in TASKS.items() if task.env_id in collected}
    assert of_them == set(RECIPES)


def test_a_recipe_makes_what_its_name_says():
    assert len(RECIPES) > 0
    for name, recipe in RECIPES.items():
        # OGBench's data sets have one, three or five million transitions.
        assert recipe.episodes * (recipe.length - 1) in (1_000_000, 3_000_000, 5_000_000), name
        assert (recipe.random_actions > 0) == (recipe.behaviour == "noisy"), name
        assert 0 <= recipe.stacking[0] <= recipe.stacking[1] <= 1, name
        assert recipe.cube_stays_visible == name.startswith("scene"), name
        assert recipe.expert == ("ant" if name.startswith("antmaze") else None), name
    assert RECIPES["cube-single-play-v0"].stacking == (0, 0), "one cube has none to stand on"
    assert RECIPES["cube-double-play-v0"].stacking[1] > 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cube-singel-noisy-v0", "did you mean 'cube-single-noisy-v0'"),
        ("antsoccer-arena-navigate-v0", "download only"),
        ("visual-cube-single-play-v0", "download only"),
        ("humanoidmaze-large-stitch-v0", "pointmaze and antmaze can be collected"),
        ("chess", "none of the 40 names is similar; 'goalsets tasks' lists"),
    ],
)
def test_other_names_are_explained(name, text):
    with pytest.raises(CollectError, match=text):
        recipe_for(name)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"episodes": 0}, "episodes must be 1 or more, got 0"),
        ({"workers": 0}, "workers must be 1 or more, got 0"),
        ({"seed": -1}, "seed must be 0 or more, got -1"),
    ],
)
def test_numbers_that_make_no_sense(tmp_path, options, text):
    with pytest.raises(CollectError, match=text):
        collect("cube-single-noisy-v0", output=tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(GoalsetsError, match=r"cannot collect .* into .*file.*: Not a directory"):
        collect("cube-single-noisy-v0", output=tmp_path / "file" / "data")


def test_data_directory(monkeypatch):
    monkeypatch.setenv("GOALSETS_DATA", "~/somewhere")
    assert data_dir() == Path.home() / "somewhere"
    monkeypatch.delenv("GOALSETS_DATA")
    assert data_dir() == Path.home() / ".goalsets" / "data"
