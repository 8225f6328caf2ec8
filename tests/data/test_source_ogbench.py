"""The ogbench source gives the transitions that OGBench's own loader gives."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import OGBench, SourceError
from goalsets.data.sources import ogbench as module
from goalsets.testing import check_source

NAME = "scene-play-v0"


def write(path, lengths, seed=0):
    """An archive as OGBench's scripts write it, ragged and with its extras."""
    rng = np.random.default_rng(seed)
    rows = sum(lengths) + len(lengths)
    np.savez_compressed(
        path,
        observations=rng.normal(size=(rows, 40)).astype(np.float32),
        actions=rng.normal(size=(rows, 2)).astype(np.float32),
        terminals=np.concatenate([np.eye(t + 1)[-1] for t in lengths]).astype(bool),
        qpos=rng.normal(size=(rows, 4)),
        qvel=rng.normal(size=(rows, 3)),
        button_states=rng.integers(0, 2, (rows, 2)),
    )


@pytest.fixture
def source(tmp_path):
    write(tmp_path / f"{NAME}.npz", (4, 1, 7))
    write(tmp_path / f"{NAME}-val.npz", (3,), seed=1)
    return OGBench(NAME, directory=tmp_path, offline=True)


@pytest.mark.parametrize(
    ("split", "file"), [("train", f"{NAME}.npz"), ("validation", f"{NAME}-val.npz")]
)
def test_transitions_are_those_of_ogbench(source, tmp_path, split, file):
    utils = pytest.importorskip("ogbench.utils")
    expected = utils.load_dataset(tmp_path / file, add_info=True)
    episodes = list(source.episodes(split))
    found = {
        "observations": [e.observations[:-1] for e in episodes],
        "next_observations": [e.observations[1:] for e in episodes],
        "actions": [e.actions for e in episodes],
        "terminals": [np.eye(len(e))[-1] for e in episodes],
        **{key: [e.extras[key][:-1] for e in episodes] for key in module.EXTRAS},
    }
    assert found.keys() == expected.keys()
    for key, parts in found.items():
        np.testing.assert_array_equal(np.concatenate(parts), expected[key], err_msg=key)


def test_it_says_what_it_reads(source, tmp_path):
    check_source(source)
    assert [len(e) for e in source.episodes()] == [4, 1, 7]
    assert source.has_validation
    assert source.fields() == (FieldSpec("", 40),)
    assert source.describe() == f"OGBench data set {NAME} ({tmp_path / NAME}.npz)"
    assert list(source.notices) == []


def test_ogbenchs_own_directory_is_looked_into(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ogbench/data").mkdir(parents=True)
    write(tmp_path / ".ogbench/data" / f"{NAME}.npz", (2,))
    data = OGBench(NAME, directory=tmp_path / "empty", offline=True)
    assert [len(e) for e in data.episodes()] == [2]
    with pytest.raises(SourceError, match="has no validation episodes"):
        next(data.episodes("validation"))


def test_the_addresses_are_those_of_the_package():
    utils = pytest.importorskip("ogbench.utils")
    assert utils.DATASET_URL == module.DATASET_URL
    assert str(module.OGBENCH_DIR) == utils.DEFAULT_DATASET_DIR


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../../etc/passwd", "cannot be the name of an OGBench data set"),
        ("visual-cube-single-play-v0", "holds images"),
    ],
)
def test_names_that_cannot_be_are_refused(name, message):
    with pytest.raises(SourceError, match=message):
        OGBench(name)
