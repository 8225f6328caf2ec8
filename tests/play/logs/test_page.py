"""What the page of logs says, and the command that opens it; a browser looks at it elsewhere."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from goalsets.cli import main
from goalsets.data.store import Store
from goalsets.play.logs import words
from goalsets.play.logs.charts import Chart, Line
from goalsets.play.logs.setup import LogSetup
from goalsets.play.logs.show import LogShow
from goalsets.runs.run import Run
from tests.play.runs import tiny_run


def svgs(html: str) -> list[ElementTree.Element]:
    """The charts in a piece of a page: they must be well formed."""
    return [ElementTree.fromstring(text) for text in re.findall(r"<svg.*?</svg>", html)]


def test_the_light_says_when_the_data_answers(show: LogShow) -> None:
    assert "the data answers it in 26 steps (2.6 s)" in words.light(show)
    assert "missing: hand" in words.light(show)
    show.seek(40)
    assert "The question is answered here" in words.light(show)
    show.edit_goal("hand=10,10")
    assert "this episode does not answer it from here on" in words.light(show)


def test_every_component_has_a_chart_with_bounds_and_cursor(show: LogShow) -> None:
    show.seek(7)
    html = words.actions(show)
    charts = svgs(html)
    assert len(charts) == 3
    for part, chart in enumerate(charts):
        label = chart.attrib["aria-label"]
        assert label.startswith(f"action {part}.")
        logged = float(show.episode.actions[7, part])
        (read,) = re.findall(r"logged (-?[\d.,]+)", ElementTree.tostring(chart, "unicode"))[-1:]
        assert float(read.replace(",", "")) == pytest.approx(logged, abs=0.06)
        titles = [element.text for element in chart.iter("title")]
        assert titles[0].startswith("lowest:")
        assert titles[1].startswith("highest:")
        assert [
            e.attrib["data-cursor"] for e in chart.iter("line") if "data-cursor" in e.attrib
        ] == ["7"]
        assert len(list(chart.iter("polyline"))) == 2
    assert "mean error" in html
    show.seek(40)
    assert "no action follows the last state" in words.actions(show)


def test_distances_stand_beside_what_the_data_took(show: LogShow) -> None:
    html = words.distances(show)
    (chart,) = svgs(html)
    assert "the data took 26 (2.6 s)" in "".join(chart.itertext())
    assert "predicted" in html
    show.edit_goal("hand=10,10")
    assert "the data took: no answer from here on" in "".join(
        svgs(words.distances(show))[0].itertext()
    )


def test_terms_say_how_many_tolerances_they_are_away(show: LogShow) -> None:
    show.question.say("hand & grip")
    show.ask()
    html = words.terms(show.along, show.setup.layout, 0, show.setup.rate)
    away = show.along.terms[0].tolerances[0]
    assert f"<td>{away:.3g}</td>" in html
    assert "✗ different" in html
    assert "4 cm" in html
    assert "✓ equal" in words.terms(show.along, show.setup.layout, 40, None)


def test_a_chart_keeps_extremes_and_gaps() -> None:
    values = np.zeros(10_000)
    values[5_003] = 9.0
    values[7_000:7_100] = np.nan
    chart = Chart("a < b", [Line("x & y", values, "#000")], 9_999, 5_003)
    (drawn,) = svgs(chart.svg())
    lines = list(drawn.iter("polyline"))
    assert len(lines) == 2  # a gap divides it
    points = [tuple(map(float, p.split(","))) for p in lines[0].attrib["points"].split()]
    assert len(points) < 700
    top = min(points, key=lambda point: point[1])
    assert top[1] < max(p[1] for p in points) - 30  # the only high value is there
    flat = Chart("flat", [Line("one", np.ones(2), "#000")], 1, 0)
    assert svgs(flat.svg(10.0))
    nothing = Chart("none", [Line("one", np.full(3, np.nan), "#000")], 2, 0)
    assert svgs(nothing.svg())


def test_numbers_that_are_not_finite_do_not_break_the_page(setup: LogSetup) -> None:
    show = LogShow(setup)
    said = show.along.said[0]
    said.actions[:] = np.nan
    assert not said.finite
    assert len(svgs(words.actions(show))) == 3


# --- The command ----------------------------------------------------------------------------


def test_play_opens_logs_where_there_is_no_simulator(
    run: Run, here: Path, store: Store, monkeypatch, capsys
) -> None:
    opened = _play(monkeypatch, str(run.path), "--model", str(here / "arm.urdf"))
    assert type(opened).__name__ == "Logs"
    said = capsys.readouterr().out
    assert f"no simulator: 4 held-out episodes of {store.path} are shown" in said
    assert "shoulder.pos moves shoulder_joint" in said
    assert "note: shoulder.pos has no unit" in said


def test_logs_of_a_task_with_a_simulator_can_be_shown(
    tmp_path: Path, monkeypatch, capsys, here: Path
) -> None:
    table = "tabletop-single-v0"
    run = tiny_run(tmp_path, table, "gcbc")
    words = [str(run.path), "--data", str(tmp_path / table)]
    assert type(_play(monkeypatch, *words)).__name__ == "Simulators"
    assert type(_play(monkeypatch, *words, "--logs")).__name__ == "Logs"
    with pytest.raises(SystemExit):
        _play(monkeypatch, *words, "--model", str(here / "arm.xml"))
    assert "Add --logs to look at its recorded episodes" in capsys.readouterr().err


def test_a_store_that_has_gone_is_named(run: Run, tmp_path: Path, monkeypatch, capsys) -> None:
    moved = make_copy(run, tmp_path / "run", str(tmp_path / "gone"))
    with pytest.raises(SystemExit):
        _play(monkeypatch, str(moved))
    said = capsys.readouterr().err
    assert "there is no data for" in said
    assert "--data" in said


def test_distances_are_drawn_along_a_held_out_episode(run: Run, store, tmp_path, capsys) -> None:
    picture = tmp_path / "far.png"
    words = ["distance", str(run.path), "--episode", "2", "--query", "arm", "-o", str(picture)]
    main(words)
    said = capsys.readouterr().out
    assert f"held-out episode 2, of {store.path}: 40 steps" in said
    assert "hand" in said
    assert picture.exists()
    rows = picture.with_suffix(".csv").read_text().splitlines()
    assert len(rows) == 42
    policy, _ = run.load()
    states = store.validation.episode(2).observations
    expected = policy.distance(states[0], states[-1], "hand")
    assert float(rows[1].split(",")[1]) == pytest.approx(float(expected), abs=1e-3)
    for wrong, message in (
        (["--episode", "9"], "has 4 such episodes, counted from 0: 9"),
        (["--task-id", "1"], "a recorded episode belongs to no official task"),
    ):
        with pytest.raises(SystemExit):
            main([*words[:2], *wrong])
        assert message in capsys.readouterr().err


def make_copy(run: Run, path: Path, task: str) -> Path:
    shutil.copytree(run.path, path)
    text = (path / "config.json").read_text()
    (path / "config.json").write_text(text.replace(json.dumps(run.config.task), json.dumps(task)))
    return path


def _play(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    """What `goalsets play` would serve; it is not served."""
    from goalsets.play import app

    class Ready(Exception):  # noqa: N818 - no error
        pass

    found: list[object] = []

    def serve(venue: object, **_: object) -> None:
        found.append(venue)
        raise Ready

    monkeypatch.setattr(app, "Playground", serve)
    with pytest.raises(Ready):
        main(["play", *words])
    return found[0]
