"""The csv and parquet sources read tables as csv, NumPy and pyarrow write them."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.cli import main
from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import Csv, Parquet, SourceError, default_store_name, known_rate
from goalsets.data.store import Store
from goalsets.testing import check_source
from tests.data.table_files import make_episode, make_episodes, write

KINDS = ("csv", "parquet")
DROPPED = "no state follows the last action in this log: that action was dropped ({} episode{})."


def open_source(kind, *paths, **settings):
    return {"csv": Csv, "parquet": Parquet}[kind](paths, **settings)


def one_table(episodes, column="episode_index"):
    """All episodes in one table, with a column that numbers them."""
    numbers = np.repeat(np.arange(len(episodes)), [len(e["timestamp"]) for e in episodes])
    joined = {name: np.concatenate([e[name] for e in episodes]) for name in episodes[0]}
    return {column: numbers, **joined}


def assert_same(source, episodes, states=("eef.x", "eef.y", "eef.z", "gripper")):
    check_source(source)
    for episode, logged in zip(source.episodes(), episodes, strict=True):
        expected = np.stack([logged[name] for name in states], axis=1).astype(np.float32)
        np.testing.assert_array_equal(episode.observations, expected)
        actions = np.stack([logged["action_dx"], logged["action_dy"]], axis=1)
        np.testing.assert_array_equal(episode.actions, actions[:-1].astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_one_file_an_episode(tmp_path, kind):
    for number, columns in zip((1, 2, 10), make_episodes(), strict=True):
        write(tmp_path / f"log_{number}.{kind}", columns)
    for paths in ([tmp_path], [tmp_path / f"log_{n}.{kind}" for n in (1, 2, 10)]):
        source = open_source(kind, *paths)
        assert_same(source, make_episodes())
        assert source.fields() == (FieldSpec("eef", 3), FieldSpec("gripper", 1))
        assert known_rate(source) == 20
        assert list(source.notices) == [DROPPED.format(3, "s")]
        assert default_store_name(source) == tmp_path.name
    assert source.describe().startswith("3 ")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", ["episode", "episode_index", "Episode.id", "my run"])
def test_one_file_with_a_column_of_episodes(tmp_path, monkeypatch, kind, column):
    monkeypatch.setattr(f"goalsets.data.sources.{kind}._ROWS", 4)  # episodes lie in several pieces
    path = write(tmp_path / f"log.{kind}", one_table(make_episodes(), column))
    source = open_source(kind, path, episode=column if column == "my run" else "")
    assert_same(source, make_episodes())
    assert default_store_name(source) == "log"


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_may_have_names(tmp_path, kind):
    table = one_table(make_episodes())
    table["episode_index"] = np.array(["b", "a", "c"])[table["episode_index"]]
    source = open_source(kind, write(tmp_path / f"log.{kind}", table))
    assert_same(source, make_episodes())
    table["episode_index"][-1] = "b"
    source = open_source(kind, write(tmp_path / f"log.{kind}", table))
    with pytest.raises(SourceError, match="episode_index b: its rows are not next to each other"):
        list(source.episodes())


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_named(tmp_path, kind):
    source = open_source(
        kind,
        write(tmp_path / f"log.{kind}", make_episode(0, 6)),
        observations=("gripper", "eef.*"),
        actions=("action_dy",),
        extras=("timestamp",),
    )
    check_source(source)
    assert source.fields() == (FieldSpec("gripper", 1), FieldSpec("eef", 3))
    (episode,) = source.episodes()
    assert episode.actions.shape == (5, 1)
    np.testing.assert_allclose(episode.extras["timestamp"], 100 + np.arange(6) / 20)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_beside_the_state_is_left_out_and_said(tmp_path, kind):
    columns = {"": np.arange(6), **make_episode(0, 6)}
    columns |= {"reward": np.zeros(6), "frame_index": np.arange(6), "task": ["pick"] * 6}
    columns |= {"note": ["fine"] * 6, "time": np.arange(6)}
    source = open_source(kind, write(tmp_path / f"log.{kind}", columns))
    assert [field.name for field in source.fields()] == ["eef", "gripper"]
    said = list(source.notices)
    for name in ("", "reward", "frame_index", "task"):
        assert (
            f"column {name!r} was left out: its name says that it is not a part of the state."
            in said
        )
    assert "column 'note' was left out: it does not hold numbers." in said
    assert (
        "column 'time' was left out: another column already gives the episode or the time." in said
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_last_row_without_an_action_loses_nothing(tmp_path, kind):
    columns = make_episode(0, 6)
    for name in ("action_dx", "action_dy"):
        columns[name] = [*columns[name][:-1], "" if kind == "csv" else None]
    source = open_source(kind, write(tmp_path / f"log.{kind}", columns))
    check_source(source)
    (episode,) = source.episodes()
    assert len(episode) == 5
    assert list(source.notices) == []


@pytest.mark.parametrize("kind", KINDS)
def test_times_are_checked(tmp_path, kind):
    path = tmp_path / f"log.{kind}"
    steady = make_episode(0, 6)
    write(path, steady | {"timestamp": np.arange(6) * 50_000_000})
    with pytest.raises(SourceError, match="its times give 5e.07 s for a step.*'_ns'"):
        list(open_source(kind, path).episodes())
    assert known_rate(open_source(kind, path, rate=20)) == 20
    check_source(open_source(kind, path, rate=20))
    in_nanoseconds = {"time_ns": 1_760_000_000_000_000_000 + np.arange(6) * 50_000_000}
    del steady["timestamp"]
    write(path, in_nanoseconds | steady)
    assert known_rate(open_source(kind, path)) == 20
    write(path, {"time": [0, 1, 2, 0, 1, 2]} | steady)
    with pytest.raises(SourceError, match="time goes back or is missing at row 3"):
        list(open_source(kind, path).episodes())
    write(path, {"time": [0, 1, 2, 3, 6, 7]} | steady)
    uneven = open_source(kind, path)
    check_source(uneven)
    assert "the steps of 'time' are not evenly spaced in time (1 episode)." in list(uneven.notices)
    write(path, {"time": ["noon"] * 6} | steady)
    with pytest.raises(SourceError, match="expected times as numbers or as dates .* 'noon'"):
        list(open_source(kind, path).episodes())
    assert known_rate(open_source(kind, path, time="time", rate=5)) == 5


def test_dates_are_times(tmp_path):
    start = np.datetime64("2026-01-31T12:00:00", "ns")
    dates = start + np.arange(6) * np.timedelta64(40, "ms")
    steady = make_episode(0, 6)
    del steady["timestamp"]
    path = write(tmp_path / "log.csv", {"time": dates.astype(str)} | steady)
    assert known_rate(Csv(path)) == 25
    path = write(tmp_path / "log.parquet", {"time": dates} | steady)
    assert known_rate(Parquet(path)) == 25


@pytest.mark.parametrize("kind", KINDS)
def test_episodes_of_another_rate_are_said(tmp_path, kind):
    write(tmp_path / f"log_0.{kind}", make_episode(0, 6))
    write(tmp_path / f"log_1.{kind}", make_episode(1, 6, rate=30))
    source = open_source(kind, tmp_path)
    check_source(source)
    assert "'timestamp' gives another rate than 20 steps a second (1 episode)." in list(
        source.notices
    )


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_cannot_be_are_explained(tmp_path, kind):
    columns = make_episode(0, 6) | {"name": ["arm"] * 6}
    path = write(tmp_path / f"log.{kind}", columns)

    def fails(match, **settings):
        with pytest.raises(SourceError, match=match):
            open_source(kind, path, **settings).fields()

    fails(
        r"log\.\w+: there is no column 'griper': did you mean 'gripper'", observations=("griper",)
    )
    fails("column 'name' does not hold numbers", observations=("name",))
    fails("column 'action_dx' cannot be both state and action", observations=("action_dx",))
    fails(
        "column 'gripper' cannot be both state and action",
        actions=("gripper",),
        observations=("g*",),
    )
    plain = {name: v for name, v in columns.items() if not name.startswith("action")}
    write(path, plain)
    fails("no column holds actions: .*The columns are 'timestamp', 'eef.x'")
    write(path, {"timestamp": np.arange(6), "action": np.arange(6)})
    fails("no column is left for the state")


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_differ_are_explained(tmp_path, kind):
    columns = make_episode(0, 6)
    write(tmp_path / f"log_0.{kind}", columns)
    path = tmp_path / f"log_1.{kind}"
    write(path, {name: v for name, v in columns.items() if name != "gripper"})
    with pytest.raises(SourceError, match=r"log_1.* has no column 'gripper', which .*log_0"):
        list(open_source(kind, tmp_path).episodes())
    write(path, columns | {"gripper": ["shut"] * 6})
    with pytest.raises(SourceError, match="'gripper' has no numbers in a row; expected 1, as in"):
        list(open_source(kind, tmp_path).episodes())
    gap = np.where(np.arange(6) == 3, np.nan, columns["eef.y"])
    write(path, columns | {"eef.y": gap})
    with pytest.raises(SourceError, match="'eef.y' has no finite number in row 3 of the episode"):
        list(open_source(kind, tmp_path).episodes())
    write(path, {name: v[:0] for name, v in columns.items()})
    with pytest.raises(SourceError, match="log_1.* has no rows"):
        list(open_source(kind, tmp_path).episodes())


@pytest.mark.parametrize("kind", KINDS)
def test_places_that_cannot_be_are_explained(tmp_path, kind):
    with pytest.raises(SourceError, match="name one or more .* files"):
        open_source(kind).fields()
    with pytest.raises(SourceError, match="there is no file .*nowhere"):
        open_source(kind, tmp_path / f"nowhere.{kind}").fields()
    (tmp_path / "log.bag").touch()
    with pytest.raises(SourceError, match=rf"has no files \*\.{kind}: its files end in .bag"):
        open_source(kind, tmp_path).fields()
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text("{}")
    with pytest.raises(SourceError, match="goalsets data import lerobot"):
        open_source(kind, tmp_path).fields()


@pytest.mark.parametrize("kind", KINDS)
def test_from_the_command_line(tmp_path, capsys, kind):
    paths = [write(tmp_path / f"log_{n}.{kind}", c) for n, c in enumerate(make_episodes())]
    store = tmp_path / "store"
    words = ["data", "import", kind, *map(str, paths), "--output", str(store), "--hold-out", "0"]
    main([*words, "--observations", "eef*"])
    assert "3 episodes to train on (13 transitions)" in capsys.readouterr().out
    assert Store.open(store).rate == 20
    assert [group.name for group in Store.open(store).layout.groups] == ["eef"]
