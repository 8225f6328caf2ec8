"""Recipes: what can be collected, how OGBench did it, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from goalsets.collect import RECIPES, CollectError, collect, recipe_for
from goalsets.data.paths import data_dir
from goalsets.envs.tasks import TASKS


def test_every_collectable_task_has_a_recipe_for_its_environment():
    for name, task in TASKS.items():
        if name.startswith(("cube", "scene", "puzzle", "pointmaze", "antmaze")):
            assert RECIPES[name].env_id == task.env_id


def test_numbers_are_those_of_ogbench():
    assert RECIPES["cube-single-noisy-v0"].random_actions == 0.1
    assert RECIPES["puzzle-4x5-noisy-v0"].random_actions == 0.2
    assert RECIPES["cube-single-play-v0"].random_actions == 0.0
    assert RECIPES["cube-single-play-v0"].stacking == (0.0, 0.0)
    assert RECIPES["cube-triple-play-v0"].stacking == (0.05, 0.35)
    assert RECIPES["cube-quadruple-play-v0"].episodes == 5000
    assert RECIPES["pointmaze-giant-navigate-v0"].length == 2001
    assert RECIPES["pointmaze-giant-navigate-v0"].episodes == 500
    assert RECIPES["pointmaze-large-stitch-v0"].length == 201
    assert RECIPES["antmaze-giant-navigate-v0"].length == 2001
    assert RECIPES["antmaze-large-explore-v0"].length == 501
    assert RECIPES["antmaze-large-explore-v0"].episodes == 10000
    for name, recipe in RECIPES.items():
        assert recipe.cube_stays_visible == name.startswith("scene")
        noise = {"pointmaze": 0.5, "antmaze": 1.0 if "explore" in name else 0.2}
        assert recipe.noise == noise.get(name.partition("-")[0], 0.1)
        assert recipe.expert == ("ant" if name.startswith("antmaze") else None)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cube-singel-noisy-v0", "did you mean 'cube-single-noisy-v0'"),
        ("antsoccer-arena-navigate-v0", "download only"),
        ("visual-cube-single-play-v0", "download only"),
        ("humanoidmaze-large-stitch-v0", "pointmaze and antmaze can be collected"),
        ("chess", "valid names: cube-single-play-v0"),
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
    with pytest.raises(CollectError, match=r"cannot write .*file.*: Not a directory"):
        collect("cube-single-noisy-v0", output=tmp_path / "file" / "data")


def test_data_directory(monkeypatch):
    monkeypatch.setenv("GOALSETS_DATA", "~/somewhere")
    assert data_dir() == Path.home() / "somewhere"
    monkeypatch.delenv("GOALSETS_DATA")
    assert data_dir() == Path.home() / ".goalsets" / "data"
