"""The whole report, from real runs and broken ones, through the command line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from goalsets import GoalsetsError
from goalsets.cli import main
from goalsets.data.writer import write_store
from goalsets.envs import picture
from goalsets.envs.tabletop import record_play as play
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.distance import Rollout, predict_along, record_curves
from goalsets.report import Options, write_report
from goalsets.report.figures.drawing import Drawing, style
from goalsets.report.figures.dumbbell import widest_gap
from goalsets.report.figures.pictures import draw_tasks
from goalsets.report.page import Report
from goalsets.report.results import gather
from goalsets.runs.config import TrainConfig
from goalsets.train.session import train
from tests.report.conftest import CUBE, MAZE, STEPS, official, scored, share, suite, write_run

TABLE = "tabletop-single-v0"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Mixed tasks, learners, schemes and seeds, with gaps; one run with weights and distances."""
    place = tmp_path_factory.mktemp("runs")
    schemes = {"her-full": 20, "her-task": 85, "gs-blockwise": 75, "gs-semantic": 80}
    for scheme, percent in schemes.items():
        for seed in (0, 1, 2) if scheme != "gs-semantic" else (0,):
            records = [
                official(step, share(percent + 5 * seed - (STEPS - step) / 10))
                for step in (600, 800, 900, 1000)
            ]
            told = {"cube_pos": percent, "airborne_cube_pos": percent / 2}
            if scheme == "her-task":
                told["airborne_cube_pos"] = "only its own"
            fields = {"scheme": scheme, "seed": seed, "learner": "gciql"}
            write_run(place / f"{scheme}-{seed}", [*records, suite(told)], **fields)
    scored(place / "maze", 40, task=MAZE, learner="gcdl")
    scored(place / "own", 40, task="store/of-ones-own", learner="gcdl", horizon=9)
    _train(place)
    return place


def _train(place: Path) -> None:
    layout = TASKS[TABLE].layout
    store = write_store(place / "store", play(20, 60, seed=0).episodes(), layout=layout)
    config = TrainConfig(task=TABLE, learner="gcdl", steps=2, batch_size=32, hidden=16)
    run = train(config, store, place / "table")
    seen = np.array(store.train.observations[:20])
    rollout = Rollout(run.path, 1, 0, seen, seen[-1])
    assert record_curves(predict_along([run], rollout, ["all"]), rollout) == []


def write(runs: Path, output: Path, **options: object) -> Report:
    return write_report([runs], output, Options(**options)).report


def files(output: Path) -> dict[str, bytes]:
    found = (path for path in output.rglob("*") if path.is_file())
    return {str(path.relative_to(output)): path.read_bytes() for path in found}


@pytest.mark.full
def test_report(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = shutil.copytree(runs / "maze", tmp_path / "broken")
    (broken / "config.json").write_text("{")
    output = tmp_path / "out"
    main(["report", str(runs), str(broken), "-o", str(output), "--title", "Ours & theirs"])
    printed = capsys.readouterr().out
    assert "13 runs of 2 learners on 4 tasks, with 3 seeds" in printed
    assert f"note: {broken}: left out: its config.json is damaged" in printed
    names = set(files(output))
    for figure in (
        "dumbbell",
        "gains",
        f"predicates-{CUBE}-gciql",
        f"curves-{CUBE}",
        f"landscape-{TABLE}-gcdl-gs-blockwise",
        "tasks",
    ):
        assert {f"figures/{figure}.{kind}" for kind in ("png", "svg", "pdf")} <= names
    assert any(name.startswith(f"figures/distance-{TABLE}") for name in names)
    for table in ("main", "paired", f"predicates-{CUBE}"):
        assert {f"tables/{table}.{kind}" for kind in ("csv", "md", "tex")} <= names
    page = (output / "report.html").read_text()
    assert "<title>Ours &amp; theirs</title>" in page
    # It needs nothing else: every picture is inside, and nothing is fetched.
    sources = re.findall(r'(?:src|href)="([^"]{0,12})', page)
    assert sources
    assert all(source.startswith(("data:image", "#")) for source in sources)
    assert page.count("<img") == len({n for n in names if n.endswith(".png")})
    pictures = re.findall(r"!\[.*\]\((.*)\)", (output / "report.md").read_text())
    assert len(pictures) == page.count("<img")
    for picture_name in pictures:
        assert (output / picture_name).exists()
    captions = re.findall(r"^\*(.{60,})\*$", (output / "report.md").read_text(), re.MULTILINE)
    assert len(captions) > 8
    assert all("Budget: " in text or text.startswith("The tasks.") for text in captions)
    assert "1,000 steps × 512" in page
    assert "200,000 steps × 8192" in page
    left_out = page[page.index('id="left-out"') :]
    assert str(broken) in left_out


@pytest.mark.full
def test_the_same_runs_give_the_same_bytes_and_nothing_stays_behind(
    runs: Path, tmp_path: Path
) -> None:
    output, slow = tmp_path / "out", ("pictures", "landscapes")
    write(runs / "maze", output, skip=slow)
    (output / "mine.txt").write_text("not of the report")
    assert f"figures/curves-{MAZE}.png" in files(output)
    write(runs / "her-full-0", output, skip=slow)
    first = files(output)
    assert f"figures/curves-{MAZE}.png" not in first
    assert f"figures/curves-{CUBE}.png" in first
    assert "mine.txt" in first
    write(runs / "her-full-0", output, skip=slow)
    assert files(output) == first


@pytest.mark.full
def test_no_label_is_clipped_or_covers_another(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Drawing] = []
    monkeypatch.setattr("goalsets.report.write.save", lambda drawing, _: seen.append(drawing) or [])
    monkeypatch.setattr("goalsets.report.write.write_html", lambda *_: None)
    monkeypatch.setattr("goalsets.report.write._write_index", lambda *_: None)
    write(runs, tmp_path / "out", skip=("pictures",))
    assert len(seen) > 6
    with style():
        for drawing in seen:
            check_labels(drawing)


def check_labels(drawing: Drawing) -> None:
    """All words of a figure lie inside it, and none on another."""
    renderer = FigureCanvasAgg(drawing.figure).get_renderer()
    drawing.figure.draw(renderer)
    texts = [
        text
        for text in drawing.figure.findobj(Text)
        if text.get_text().strip() and text.get_visible() and _drawn(text, drawing)
    ]
    assert texts, f"{drawing.name} has no words"
    boxes = [text.get_window_extent(renderer) for text in texts]
    width, height = drawing.figure.bbox.width, drawing.figure.bbox.height
    for text, box in zip(texts, boxes, strict=True):
        inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
        assert inside, f"{drawing.name}: {text.get_text()!r} is clipped"
    for i, box in enumerate(boxes):
        for j in range(i):
            assert not box.shrunk(0.9, 0.9).overlaps(boxes[j].shrunk(0.9, 0.9)), (
                f"{drawing.name}: {texts[i].get_text()!r} covers {texts[j].get_text()!r}"
            )


def _drawn(text: Text, drawing: Drawing) -> bool:
    """Leave out what matplotlib keeps of ticks that it does not draw."""
    for axes in drawing.figure.axes:
        for axis, along in ((axes.xaxis, 0), (axes.yaxis, 1)):
            ticks = [*axis.majorTicks, *axis.minorTicks]
            if any(text in (tick.label1, tick.label2) for tick in ticks):
                low, high = sorted(axis.get_view_interval())
                return text in axis.get_ticklabels() and low <= text.get_position()[along] <= high
    return True


def test_pictures_that_cannot_be_drawn_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise GoalsetsError("cannot draw: OpenGL does not work here.")

    monkeypatch.setattr("goalsets.report.figures.pictures.draw", fail)
    from goalsets.report.reading import read_runs

    scored(tmp_path / "run", 50)
    notes: list = []
    found = read_runs([tmp_path])
    assert draw_tasks(gather(found.runs, []), notes) is None
    assert (notes[0].place, "OpenGL" in notes[0].reason) == (CUBE, True)
    assert picture.draw is not fail


def test_own_logs_have_no_picture_and_are_noted(tmp_path: Path) -> None:
    from goalsets.report.reading import read_runs

    scored(tmp_path / "run", 50, task="stores/my-arm")
    notes: list = []
    assert draw_tasks(gather(read_runs([tmp_path]).runs, []), notes) is None
    assert [note.reason for note in notes] == ["not in the pictures: it has no environment here"]


@pytest.mark.full
def test_a_run_without_weights_has_no_landscape(runs: Path, tmp_path: Path) -> None:
    light = shutil.copytree(runs / "table", tmp_path / "light")
    (light / "checkpoint.safetensors").unlink()
    kept = write(light, tmp_path / "kept")  # the weights that were kept will do
    assert not any("landscape" in note.reason for note in kept.notes)
    drawn = f"figures/landscape-{TABLE}-gcdl-gs-blockwise.png"
    assert drawn in files(tmp_path / "kept")
    shutil.rmtree(light / "weights")
    report = write(light, tmp_path / "out")
    assert any("no landscape: it has neither weights" in note.reason for note in report.notes)
    assert drawn not in files(tmp_path / "out")


@pytest.mark.full
def test_a_landscape_that_was_kept_is_drawn_without_weights(runs: Path, tmp_path: Path) -> None:
    light = shutil.copytree(runs / "table", tmp_path / "light")
    write(light, tmp_path / "computed")
    main(["landscape", str(light)])
    shutil.rmtree(light / "weights")
    (light / "checkpoint.safetensors").unlink()
    report = write(light, tmp_path / "kept")
    assert not any("landscape" in note.reason for note in report.notes)
    name = f"figures/landscape-{TABLE}-gcdl-gs-blockwise.png"
    assert (tmp_path / "kept" / name).read_bytes() == (tmp_path / "computed" / name).read_bytes()
    (light / "landscape.npz").write_bytes(b"no archive")
    report = write(light, tmp_path / "damaged")
    assert any("its landscape.npz is damaged" in note.reason for note in report.notes)


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(scored(tmp_path / "run", 50))
    for arguments, message in (
        ([], "name at least one run directory"),
        ([run, "--last", "0"], "Error parsing --last: expected 1 or more, got 0"),
        ([run, "--since", "2"], "since must be from 0 to 1, got 2"),
        ([run, "--scheme", "her-task"], "scheme must be one that answers queries"),
        ([run, "--scheme", "gs-blok"], "unknown scheme 'gs-blok'"),
        ([str(tmp_path / "nowhere")], "is not a directory"),
    ):
        with pytest.raises(SystemExit):
            main(["report", *arguments, "-o", str(tmp_path / "out")])
        assert message in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    with pytest.raises(GoalsetsError, match="cannot write the report to"):
        write_report([tmp_path], tmp_path / "file", Options(skip=("pictures", "landscapes")))


@pytest.mark.parametrize(
    ("drawn", "free"),
    [
        ([], 50),
        ([(46, 72), (60, 60)], 23),
        ([(20, 46), (32, 32)], 73),
        ([(0, 10), (30, 90), (40, 50)], 20),
    ],
)
def test_what_is_missing_is_said_where_there_is_room(
    drawn: list[tuple[float, float]], free: float
) -> None:
    assert widest_gap(drawn) == free
