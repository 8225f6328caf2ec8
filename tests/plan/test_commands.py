"""`--plan` on the command line, and records that are never mistaken for others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goalsets.campaign import training
from goalsets.cli import main
from goalsets.evaluate.alongside import Alongside
from goalsets.evaluate.official import evaluate_official, recorded
from goalsets.evaluate.suites import build_suite, run_suite, shipped_description
from goalsets.evaluate.suites.build import with_episodes
from goalsets.plan.planner_file import PLANNER
from goalsets.report.reading import read_runs
from goalsets.report.results import official_points
from goalsets.runs.run import Run, is_planned
from goalsets.sweep.grid import Evaluation
from goalsets.sweep.survey import RUNS
from tests.plan.runs import TASK, copy_of_run, place, store
from tests.sweep.conftest import small
from tests.sweep.driving import drive


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    store()
    monkeypatch.setenv("GOALSETS_DATA", str(place() / "data"))
    return copy_of_run(tmp_path / "run")


def error_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_plan_prints_the_chain_and_runs_nothing(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["plan", str(run.path), "--task-id", "4"])
    printed = capsys.readouterr()
    assert "learning a planner from 150 episodes" in printed.err
    assert "question   block0_pos & block1_pos" in printed.out
    # A swap: one block is put out of the way first, so that there are three steps.
    assert "plan       1. " in printed.out
    assert "           3. " in printed.out
    assert "steps in all" in printed.out
    assert "found in" in printed.out
    assert {path.name for path in run.path.iterdir()} >= {PLANNER}
    assert not (run.path / "asked").exists()
    main(["plan", str(run.path), "--task-id", "4", "--query", "block1_pos", "--goal", "task:2"])
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "question   block1_pos\ngoal       the official goal of task 2" in printed.out


@pytest.mark.full
def test_a_model_that_comes_with_goalsets_plans_its_official_goals(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without --goal, the question decides which goal it is about."""
    pytest.importorskip("ogbench")
    main(["plan", "two-cubes", "--task-id", "4"])
    said = capsys.readouterr().out
    assert "the official goal of task 4" in said
    assert "(on the way)" in said, "cubes that change places need a third place"
    main(["plan", "two-cubes", "--task-id", "4", "--query", "block0_pos"])
    assert "validation state 0" in capsys.readouterr().out


def test_an_impossible_goal_ends_in_a_sentence(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["plan", str(run.path), "--query", "block0_pos", "--set", "block0_pos=9,9,9"])
    printed = capsys.readouterr().out
    assert "plan       no chain leads to “block0_pos”" in printed
    assert "block0" in printed.split("no chain leads to")[1]


def test_ask_follows_a_chain(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    main(["ask", str(run.path), "--plan", "--task-id", "4", "-o", str(out)])
    printed = capsys.readouterr().out
    assert "plan       1. " in printed
    assert printed.index("plan       1. ") < printed.index("episode    from task 4")
    assert "chain      " in printed
    assert "asked" in printed
    assert next(out.glob("film.*")).stat().st_size > 1000
    told = json.loads((out / "answer.json").read_text())
    assert told["plan"] is True
    assert told["plans"] >= 1
    first = told["chain"][0]
    assert (first["plan"], first["number"], first["first"]) == (1, 1, 0)
    ends = [step["last"] for step in told["chain"]]
    assert ends == sorted(ends)
    assert ends[-1] == told["steps"]
    main(["ask", str(run.path), "--no-video", "-o", str(tmp_path / "plain")])
    assert "plan" not in json.loads((tmp_path / "plain" / "answer.json").read_text())
    assert "\nchain  " not in capsys.readouterr().out


@pytest.mark.full
def test_eval_keeps_chains_apart(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", str(run.path), "--episodes", "1", "--workers", "1"]
    main([*words, "--plan", "--data", str(store().path)])
    assert "step 4, with a chain: success" in capsys.readouterr().out
    assert recorded(run, 4, 1) is None
    assert [r["plan"] for r in run.evaluations()] == [True]
    assert run.evaluations()[0]["planner_data"] == store().fingerprint
    assert recorded(run, 4, 1, plan=True) == run.evaluations()[0]
    # What was evaluated with a chain is still to be evaluated without one.
    assert Alongside(run, 1, 1)._known == set()
    main([*words, "--last", "1"])
    assert ", with a chain" not in capsys.readouterr().out
    chain, plain = run.evaluations()
    assert "plan" not in plain
    assert recorded(run, 4, 1) == plain
    assert recorded(run, 4, 1, plan=True) == chain
    main([*words, "--last", "1", "--plan"])
    assert len(run.evaluations()) == 2, "it was recorded, and is not run again"
    # Processes change nothing.
    again = evaluate_official(run, episodes=1, plan=True, workers=2)
    assert again["episodes"] == chain["episodes"]
    capsys.readouterr()
    assert "--data is for the planner" in error_of([*words, "--data", "x"], capsys)


@pytest.mark.full
def test_suites_have_a_column_for_chains(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = build_suite(TASK, store(), with_episodes(shipped_description(TASK), 1))
    suite.save(tmp_path / "suite.json")
    name = next(iter(suite.questions))
    words = ["suite", "run", str(run.path), "--suite", str(tmp_path / "suite.json")]
    main([*words, "--only", name, "--workers", "1", "--plan"])
    printed = capsys.readouterr().out
    assert f"  A: {run.path}, step 4\n" in printed
    assert f"  B: {run.path}, step 4, with a chain\n" in printed
    assert "B - A" in printed
    plain, chain = run.evaluations()
    assert not is_planned(plain)
    assert is_planned(chain)
    # Each finds its own episodes again.
    for plan, record in ((False, plain), (True, chain)):
        found = run_suite(run, suite, only=[name], plan=plan, workers=1)
        assert found["by_predicate"] == record["by_predicate"]
    assert len(run.evaluations()) == 2


@pytest.mark.full
def test_sweeps_evaluate_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store()
    monkeypatch.setenv("GOALSETS_DATA", str(place() / "data"))
    sweep = small(tasks=(TASK,), seeds=(0,), evaluation=Evaluation(episodes=1, plan=True))
    (job,) = sweep.jobs()
    assert drive(sweep, tmp_path / "sweep").failed == 0
    run = Run.open(tmp_path / "sweep" / RUNS / job.name)
    assert (run.path / PLANNER).exists()
    assert [is_planned(r) for r in run.evaluations()] == [False, True]
    # A run is recorded only with both.
    records = tmp_path / "records"
    training.keep_records(tmp_path / "sweep", records, wanted=())
    assert not records.exists()  # no grid asks for this run
    training.keep_records(tmp_path / "sweep", records)
    assert training.is_recorded(job, sweep, records)
    # A record that is only among the kept ones stays, also if the other kind is recorded anew.
    own = run.path / "evaluations.jsonl"
    lines = own.read_text().splitlines()
    own.write_text(lines[0] + "\n")
    training.keep_records(tmp_path / "sweep", records)
    assert training.is_recorded(job, sweep, records)
    for kept in lines:
        (records / job.name / "evaluations.jsonl").write_text(kept + "\n")
        assert not training.is_recorded(job, sweep, records)
    without = small(tasks=(TASK,), seeds=(0,), evaluation=Evaluation(episodes=1))
    assert not training.is_recorded(job, without, records)  # the chain's alone is left


def test_a_report_never_mixes_them(run: Run) -> None:
    plain = {"kind": "official", "step": 4, "num_episodes": 1, "success": 0.0, "episodes": []}
    chain = {**plain, "success": 1.0, "plan": True}
    for record in (plain, chain):
        run.add_evaluation(record)
    (told,) = read_runs([run.path]).runs
    assert told.records("official") == [plain]
    assert told.records("official", plan=True) == [chain]
    assert [point.success for point in official_points(told)] == [0.0]


def test_without_data_the_commands_say_what_to_do(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path / "nothing"))
    for words in (["plan"], ["ask", "--plan"], ["eval", "--plan"]):
        told = error_of([words[0], str(run.path), *words[1:]], capsys)
        assert f"has no {PLANNER}, and there is no data to learn one from" in told
        assert "Traceback" not in told
