"""Tables say what the records say: nothing invented, nothing averaged that should not be."""

from __future__ import annotations

import csv
import io
import shutil
import statistics
import subprocess
from pathlib import Path

import pytest

from goalsets.report.aggregate import aggregate_table
from goalsets.report.chains import chain_table
from goalsets.report.figures.gains import own_gains, published_gains
from goalsets.report.main_table import main_table
from goalsets.report.paired import paired_table, pairs
from goalsets.report.published import published_predicates, published_scores
from goalsets.report.reading import Note, read_runs
from goalsets.report.results import Results, gather, score
from goalsets.report.statistics import correlation
from goalsets.report.suites import gather_suites, predicate_table
from goalsets.report.tables import Entry, Table, escape_tex
from tests.report.conftest import CUBE, MAZE, STEPS, official, scored, share, suite, write_run

PLAN = {"plan": True}


def results(place: Path, **options: float) -> Results:
    found = read_runs([place])
    return gather(found.runs, found.notes, **options)


def cell(table: Table, learner: str, task: str, scheme: str) -> Entry:
    column = list(table.columns).index(scheme)
    return next(r[column] for r in table.rows if (r[0].text, r[1].text) == (learner, task))


def rows(table: Table) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.to_csv())))


# --- The main table ---


def test_main_table(tmp_path: Path) -> None:
    for seed, percent in enumerate((80, 90, 100)):
        scored(tmp_path / f"gs{seed}", percent, seed=seed)
    scored(tmp_path / "full", 25, scheme="her-full")
    scored(tmp_path / "maze", 40, task=MAZE, learner="gcdl")
    table = main_table(results(tmp_path))
    assert cell(table, "gcbc", CUBE, "gs-blockwise") == Entry(
        "90 ± 10", "paper 89 ± 3, +1", bold=True
    )
    assert cell(table, "gcbc", CUBE, "her-full") == Entry("25†", "paper 24 ± 3, +1")
    assert cell(table, "gcbc", CUBE, "her-task") == Entry("—")
    # Nothing to compare with in its row: a lonely best is not set in bold.
    assert cell(table, "gcdl", MAZE, "gs-blockwise") == Entry("40†", "paper 87 ± 2, −47")
    # Every learner on every task, and what nobody ran is missing.
    assert {cell(table, "gcdl", CUBE, scheme).text for scheme in table.columns[2:]} == {"—"}
    assert "1,000 steps × 512 on 300 episodes (300,000 transitions)" in table.caption
    assert "1 or 3 seeds a cell" in table.caption
    record = next(row for row in rows(table) if row["seeds"] == "3")
    assert float(record["mean"]) == 90
    assert float(record["low"]) < 83
    assert float(record["difference"]) == 1
    assert not any(row["task"] == CUBE and row["scheme"] == "her-task" for row in rows(table))


def test_bold_is_within_95_percent_of_the_best(tmp_path: Path) -> None:
    for scheme, percent in (("her-full", 94), ("her-task", 95), ("gs-blockwise", 100)):
        records = [official(STEPS, share(percent, 100))]
        write_run(tmp_path / scheme, records, scheme=scheme)
    table = main_table(results(tmp_path))
    bold = {s: cell(table, "gcbc", CUBE, s).bold for s in ("her-full", "her-task", "gs-blockwise")}
    assert bold == {"her-full": False, "her-task": True, "gs-blockwise": True}


def test_runs_with_other_settings_are_not_averaged(tmp_path: Path) -> None:
    usual = {"learner": "gciql", "settings": {"alpha": 0.3}}
    scored(tmp_path / "usual", 90, **usual)
    scored(tmp_path / "full", 50, scheme="her-full", **usual)
    # The default said aloud is the same recipe; another value, or other data, is not.
    scored(tmp_path / "same", 70, **{**usual, "seed": 1, "epsilon": 0.02})
    scored(tmp_path / "other", 10, learner="gciql", settings={"alpha": 9.0}, seed=1)
    data = scored(tmp_path / "data", 20, **{**usual, "seed": 2}) / "data.json"
    data.write_text(data.read_text().replace("f" * 32, "e" * 32))
    found = results(tmp_path)
    assert found.get(CUBE, "gciql", "gs-blockwise").scores == [90, 70]
    variants = {c.variant: c.scores for c in found.cells.values() if c.variant}
    assert variants == {"alpha 9.0": [10], "data eeeeee (300 episodes)": [20]}
    assert [row[1].note for row in main_table(found).rows] == ["", *sorted(variants)]


def test_what_is_ablated_is_the_usual_recipe(tmp_path: Path) -> None:
    for number, fields in enumerate(
        ({"clamp": "standardised"}, {"fill": "zero"}, {}, {"hidden": 8})
    ):
        scored(tmp_path / str(number), 90, **fields)
    assert sorted(results(tmp_path).variants.values()) == [
        "", "clamp standardised", "fill zero", "hidden 8"
    ]  # fmt: skip


# --- A run's score ---


def test_score_is_the_mean_of_the_last_evaluations(tmp_path: Path) -> None:
    steps = ((500, 0), (800, 60), (900, 80), (1000, 100))
    write_run(tmp_path / "run", [official(step, share(percent)) for step, percent in steps])
    run = read_runs([tmp_path]).runs[0]
    assert score(run, 3, 0.8).success == pytest.approx(0.8)
    assert score(run, 1, 0.8).success == 1.0
    assert score(run, 4, 0.8).success == pytest.approx(0.8)  # half-way is no last evaluation
    assert score(run, 4, 0.0).success == pytest.approx(0.6)


def test_of_two_evaluations_of_a_step_the_larger_counts(tmp_path: Path) -> None:
    records = [official(STEPS, share(50, 40)), official(STEPS, share(100, 5))]
    write_run(tmp_path / "run", records)
    assert results(tmp_path).get(CUBE, "gcbc", "gs-blockwise").mean == 50


def test_unfinished_runs_have_no_score(tmp_path: Path) -> None:
    write_run(tmp_path / "half", [official(900, share(100))])
    write_run(tmp_path / "never", seed=1)
    found = results(tmp_path)
    assert not found.cells
    told = {Path(note.place).name: note.reason for note in found.notes}
    assert "its last official evaluation is of step 900 of 1,000" in told["half"]
    assert "no official evaluation" in told["never"]
    assert {e.text for row in main_table(found).rows for e in row[2:]} == {"—"}


# --- Many predicates, pairs, aggregates ---


def test_predicates(tmp_path: Path) -> None:
    asked = {"cube_pos": 100, "cube_pose": 50}
    for seed in (0, 1):
        write_run(tmp_path / f"gs{seed}", [suite(asked)], learner="gciql", seed=seed)
    refused = {"cube_pos": 90, "cube_pose": "her-task answers only its own question"}
    task = write_run(tmp_path / "task", [suite(refused)], learner="gciql", scheme="her-task")
    late = write_run(tmp_path / "late", [suite(asked, step=500)], learner="gciql", seed=2)
    notes: list[Note] = []
    found = gather_suites(results(tmp_path), notes)
    assert [(Path(n.place), "asked after 500 steps" in n.reason) for n in notes] == [(late, True)]
    table = predicate_table(found[0])
    assert list(table.columns[:3]) == ["predicate", "gciql her-task", "gciql gs-blockwise"]
    texts = [[entry.text for entry in row[:3]] for row in table.rows]
    theirs = dict(zip(table.columns[3:], table.rows[1][3:], strict=True))
    assert theirs["paper: gciql her-full"].text == "52 ± 5"
    assert theirs["paper: gciql her-task"].text == "—"  # the paper says: retrain
    assert texts[0] == ["cube_pos", "90† [70, 97]", "100 ± 0 [91, 100]"]
    assert texts[1] == ["cube_pose", "not asked", "50 ± 0 [35, 65]"]
    assert table.rows[1][2].note == "paper 29 ± 4, +21"
    assert [r["asked"] for r in rows(table) if r["scheme"] == "her-task"] == ["yes", "no"]
    assert task.exists()


def test_records_of_one_suite_are_put_together(tmp_path: Path) -> None:
    parts = [suite({"cube_pos": 100}, count=5), suite({"ee_pos": 20, "cube_pos": 50}, count=20)]
    write_run(tmp_path / "run", parts)
    column = gather_suites(results(tmp_path), [])[0].columns[0]
    assert column.share("cube_pos").episodes == 20
    assert column.share("cube_pos").mean == 50
    assert column.share("ee_pos").mean == 20


def test_chains_have_tables_of_their_own(tmp_path: Path) -> None:
    for seed, percent in enumerate((20, 40)):
        chain = [official(STEPS, share(percent + 50), plan=True), suite({"cube_pos": 90}) | PLAN]
        plain = [official(STEPS, share(percent)), suite({"cube_pos": 10})]
        write_run(tmp_path / f"gs{seed}", [*chain, *plain], seed=seed)
    write_run(tmp_path / "only", [official(STEPS, share(100), plan=True)], scheme="her-full")
    found = results(tmp_path)
    # All other tables are as if there were no chains.
    assert cell(main_table(found), "gcbc", CUBE, "gs-blockwise").text == "30 ± 14"
    assert cell(main_table(found), "gcbc", CUBE, "her-full").text == "—"
    assert [note.place for note in found.notes] == [str(tmp_path / "only")]
    assert pairs(found, gather_suites(found, [])) == []
    plain = predicate_table(gather_suites(found, [])[0])
    assert plain.rows[0][1].text == "10 ± 0 [4, 23]"
    table = chain_table(found)
    assert table is not None
    texts = [[entry.text for entry in row] for row in table.rows]
    assert texts[0][2:] == ["gs-blockwise", "30 ± 14 [18, 45]", "80 ± 14 [65, 90]", texts[0][5]]
    assert texts[0][5].startswith("+50 [")
    assert texts[1][2:] == ["her-full", "—", "100† [84, 100]", "—"]
    (seen,) = gather_suites(found, [], plan=True)
    chains = predicate_table(seen)
    assert (chains.name, chains.title) == (f"chains-{CUBE}", f"Chains of questions: {CUBE}")
    assert chains.rows[0][1].text == "90 ± 0 [77, 96]"
    assert chains.rows[0][1].note == ""  # the paper asks no chains
    assert len(chains.columns) == 2
    assert chain_table(Results({}, {}, [], [])) is None


def test_pairs_share_seed_and_episodes(tmp_path: Path) -> None:
    scored(tmp_path / "full", 20, scheme="her-full")
    scored(tmp_path / "gs", 90)
    scored(tmp_path / "gs1", 90, seed=1)  # no her-full of this seed
    write_run(tmp_path / "task", [official(STEPS, share(50, 10))], scheme="her-task")
    found = pairs(results(tmp_path), [])
    assert [(p.scheme, p.seed, p.comparison.episodes) for p in found] == [
        ("gs-blockwise", 0, 20),
        ("her-task", 0, 10),
    ]
    assert found[0].comparison.difference == pytest.approx(0.7)
    table = paired_table(found)
    assert table is not None
    assert float(rows(table)[0]["p_holm"]) == pytest.approx(
        2 * found[0].comparison.p_value, rel=0.01
    )
    assert paired_table([]) is None


def test_aggregate_is_over_tasks_that_all_schemes_have(tmp_path: Path) -> None:
    for task in (CUBE, MAZE):
        for seed in (0, 1):
            scored(tmp_path / f"gs-{task}-{seed}", 50 + 20 * seed, task=task, seed=seed)
            scored(tmp_path / f"full-{task}-{seed}", 10, task=task, seed=seed, scheme="her-full")
    scored(tmp_path / "easy", 100, task="scene-play-v0")  # has no her-full
    table = aggregate_table(results(tmp_path))
    assert table is not None
    assert table.rows[0][1].note == f"{CUBE}, {MAZE}"
    assert [e.text for e in table.rows[0][2:]] == ["10 [10, 10]", "—", "60 [50, 70]", "—"]
    assert aggregate_table(results(tmp_path / f"gs-{CUBE}-0")) is None


def test_gains(tmp_path: Path) -> None:
    for scheme, percent in (("her-full", 20), ("her-task", 90), ("gs-blockwise", 70)):
        scored(tmp_path / scheme, percent, scheme=scheme)
    scored(tmp_path / "lonely", 90, task=MAZE)
    gain = own_gains(results(tmp_path), "gs-blockwise")
    assert [(g.task, g.oracle, g.ours) for g in gain] == [(CUBE, 70, 50)]


# --- The published numbers ---


def test_published_numbers_give_the_means_that_the_paper_states() -> None:
    numbers = published_scores()
    assert len(numbers) == 5 * 8 * 4
    for kinds, expected in (
        (("cube", "scene"), {"her-full": 24.5, "gs-blockwise": 55.0, "her-task": 60.6}),
        (("pointmaze",), {"her-full": 47.2, "gs-blockwise": 47.5, "her-task": 47.6}),
    ):
        for scheme, mean in expected.items():
            own = [
                n.mean for (_, t, s), n in numbers.items() if s == scheme and t.startswith(kinds)
            ]
            assert statistics.fmean(own) == pytest.approx(mean, abs=0.06)
    gain = published_gains("gs-blockwise")
    assert len(gain) == 8
    assert (correlation([g.oracle for g in gain], [g.ours for g in gain]) or 0) > 0.8
    assert published_predicates()["gciql", CUBE, "gs-blockwise", "cube_yaw"].std == 11
    assert ("gciql", CUBE, "her-task", "cube_yaw") not in published_predicates()


# --- Formats ---


def test_latex_is_escaped_and_even() -> None:
    assert escape_tex("a_b & 5 % ± − {x}") == r"a\_b \& 5 \% $\pm$ $-$ \{x\}"
    table = Table(
        "t", "A_B", "50 %.", ["name", "x"], [[Entry("a_b", code=True), Entry("1", "p_q", True)]], []
    )
    text = table.to_latex()
    two_lines = r"\begin{tabular}[c]{@{}c@{}}\textbf{1}\\[-2pt]{\scriptsize p\_q}\end{tabular}"
    assert rf"\texttt{{a\_b}} & {two_lines} \\" in text
    assert r"\begin{tabular}{lc}" in text
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    assert {line.count("&") for line in body.splitlines() if line.endswith(r" \\")} == {1}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is here")
@pytest.mark.parametrize("columns", [1, 40], ids=["narrow", "wide"])
def test_latex_compiles_and_stays_on_the_page(tmp_path: Path, columns: int) -> None:
    row = [Entry("a_b & c", code=True), *[Entry("100 ± 0†", "paper 98 ± 1, +2", True)] * columns]
    table = Table("t", "A_B", "50 % …", ["name", *"x" * columns], [row, row], [])
    packages = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}"
    text = "\n".join([packages, table.to_latex(), r"\end{document}"])
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert (tmp_path / "t.pdf").exists()


def test_markdown_keeps_its_columns() -> None:
    table = Table("t", "T", "c", ["a", "b"], [[Entry("x|y"), Entry("1", "n", bold=True)]], [])
    assert table.to_markdown().splitlines()[2] == r"| x\|y | **1** <sub>n</sub> |"
