"""The lerobot source reads the published v3.0 layout, files and chunks as LeRobot cuts them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from goalsets.data.flatten import FieldSpec
from goalsets.data.importing import import_source
from goalsets.data.sources import LeRobot, SourceError, known_rate
from goalsets.data.sources.lerobot_meta import coordinate_names
from goalsets.testing import check_source
from tests.data.lerobot_files import (
    FILES,
    INFO,
    LENGTHS,
    MOTORS,
    STRADDLING,
    WHOLE,
    make_columns,
    write,
)

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def expected(keys):
    columns = make_columns()
    whole = np.concatenate([columns[k].reshape(22, -1) for k in keys], axis=1).astype(np.float32)
    stops = np.cumsum(LENGTHS)
    return [
        (whole[stop - n : stop], columns["action"][stop - n : stop - 1])
        for n, stop in zip(LENGTHS, stops, strict=True)
    ]


@pytest.mark.parametrize("cuts", [WHOLE, FILES, STRADDLING])
@pytest.mark.parametrize("fixed", [True, False])
def test_episodes_come_back_however_the_files_are_cut(tmp_path, cuts, fixed):
    source = LeRobot(str(write(tmp_path / "d", make_columns(), cuts, fixed)))
    check_source(source)
    keys = ("observation.environment_state", "observation.phase", "observation.state")
    episodes = list(source.episodes())
    for episode, (states, actions) in zip(episodes, expected(keys), strict=True):
        np.testing.assert_array_equal(episode.observations, states)
        np.testing.assert_array_equal(episode.actions, actions)
        assert episode.observations.dtype == np.float32
    assert list(source.notices) == [
        "observation 'observation.images.top' was left out: it is not a vector of numbers.",
        "no state follows the last action in this log: that action was dropped (5 episodes).",
    ]
    assert source.describe().endswith("with 5 episodes")


def test_the_frames_a_second_are_kept(tmp_path):
    source = LeRobot(str(write(tmp_path / "d", make_columns(), WHOLE)))
    assert known_rate(source) == 10
    assert import_source(source, tmp_path / "s").store.rate == 10
    info = {key: value for key, value in INFO.items() if key != "fps"}
    assert known_rate(LeRobot(str(write(tmp_path / "e", make_columns(), WHOLE, info=info)))) is None
    write(tmp_path / "f", make_columns(), WHOLE, info=info | {"fps": "ten"})
    with pytest.raises(SourceError, match="'fps' must be a number above 0, got 'ten'"):
        LeRobot(str(tmp_path / "f")).fields()


@pytest.mark.parametrize("dtype", ["image", "2024-13-45", "0:4000000000", "f4,f4"])
def test_a_feature_of_an_unknown_type_is_left_out(tmp_path, dtype):
    """The fuzzer found that NumPy refuses texts with digits in another way."""
    phase = INFO["features"]["observation.phase"] | {"dtype": dtype}
    features = INFO["features"] | {"observation.phase": phase}
    info = INFO | {"features": features}
    source = LeRobot(str(write(tmp_path / "d", make_columns(), WHOLE, info=info)))
    list(source.episodes())
    assert any("'observation.phase' was left out" in notice for notice in source.notices)


def test_small_batches_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("goalsets.data.sources.lerobot._ROWS", 2)
    source = LeRobot(str(write(tmp_path / "d", make_columns(), STRADDLING)))
    assert [len(e) for e in source.episodes()] == [n - 1 for n in LENGTHS]


def test_fields_have_the_names_of_the_features(tmp_path):
    root = str(write(tmp_path / "d", make_columns(), WHOLE))
    state = FieldSpec("state", 3, tuple(MOTORS))
    assert LeRobot(root).fields() == (
        FieldSpec("environment_state", 2),
        FieldSpec("phase", 1),
        state,
    )
    chosen = LeRobot(root, observations=("observation.state", "next.reward"))
    assert chosen.fields() == (state, FieldSpec("next.reward", 1))
    for episode, (states, _) in zip(
        chosen.episodes(), expected(("observation.state", "next.reward")), strict=True
    ):
        np.testing.assert_array_equal(episode.observations, states)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["x", "y"], ("x", "y")),
        ({"motors": ["x", "y"]}, ("x", "y")),
        ({"left": ["x"], "right": ["y"]}, ("x", "y")),
        ({"y": 1, "x": 0}, ("x", "y")),
        (["motors"], ()),
        ({"axes": ["x", "y", "z"]}, ()),
        ({}, ()),
        (None, ()),
    ],
)
def test_names_come_in_many_forms(names, expected):
    assert coordinate_names(names, 2) == expected


def test_extras_come_along(tmp_path):
    source = LeRobot(
        str(write(tmp_path / "d", make_columns(), STRADDLING)), extras=("timestamp", "action")
    )
    episode = list(source.episodes())[1]
    np.testing.assert_allclose(episode.extras["timestamp"], np.arange(6) / 10, rtol=1e-6)
    assert episode.extras["action"].shape == (6, 2)


@pytest.mark.parametrize(
    ("splits", "train", "validation"),
    [
        ({"train": "0:3", "val": "3:5"}, [3, 5, 2], [1, 6]),
        ({"validation": "1:2"}, [3, 2, 1, 6], [5]),
        ({"train": "0:5"}, [3, 5, 2, 1, 6], None),
    ],
)
def test_splits_are_those_of_the_info(tmp_path, splits, train, validation):
    root = write(tmp_path / "d", make_columns(), STRADDLING, info=INFO | {"splits": splits})
    source = LeRobot(str(root))
    assert [len(e) for e in source.episodes()] == train
    assert source.has_validation == (validation is not None)
    if validation is None:
        with pytest.raises(SourceError, match="has no validation episodes"):
            next(source.episodes("validation"))
    else:
        assert [len(e) for e in source.episodes("validation")] == validation


def test_the_hub_is_asked_for_everything_but_videos(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    root = write(tmp_path / "d", make_columns(), WHOLE)
    asked = []

    def snapshot(repo, **settings):
        asked.append((repo, settings))
        return str(root)

    monkeypatch.setattr(hub, "snapshot_download", snapshot)
    source = LeRobot("lerobot/pusht", download=True, revision="v3.0")
    assert len(list(source.episodes())) == 5
    settings = {"repo_type": "dataset", "revision": "v3.0", "allow_patterns": ["meta/*", "data/*"]}
    assert asked[0] == ("lerobot/pusht", settings)

    def refuse(repo, **settings):
        raise RuntimeError("401 Unauthorized")

    monkeypatch.setattr(hub, "snapshot_download", refuse)
    with pytest.raises(
        SourceError, match="cannot download the LeRobot data set 'lerobot/pusht' .* 401"
    ):
        source.fields()


def test_lerobot_itself_is_not_needed(tmp_path):
    list(LeRobot(str(write(tmp_path / "d", make_columns(), WHOLE))).episodes())
    assert "lerobot" not in sys.modules
