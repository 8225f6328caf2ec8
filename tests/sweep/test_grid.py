"""Grids, names and files."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from goalsets.report.published import published_predicates, published_scores
from goalsets.runs.plugins import read_config
from goalsets.runs.presets import resolve
from goalsets.sweep.files import parse_sweep, read_sweep, shipped_sweeps, write_sweep
from goalsets.sweep.grid import Evaluation, Job, SuiteChoice, Sweep, SweepError
from goalsets.sweep.survey import duties_of
from goalsets.sweep.work import Duties
from goalsets.train.session import Pace
from tests.sweep.conftest import TASK, small


def cells(jobs: Sequence[Job]) -> Counter[tuple[str, str, str]]:
    return Counter((job.config.learner, job.config.task, job.config.scheme) for job in jobs)


def test_the_papers_sweeps_have_the_cells_of_its_tables_with_five_seeds() -> None:
    main, predicates = (
        shipped_sweeps()[name].jobs() for name in ("paper-main", "paper-predicates")
    )
    assert cells(main) == dict.fromkeys(published_scores(), 5)
    assert cells(predicates) == dict.fromkeys((cell[:3] for cell in published_predicates()), 5)
    assert len({job.name for job in main}) == len(main)
    # A sweep that is stopped early has whole seeds, and not whole tasks.
    assert {job.config.seed for job in main[: len(published_scores())]} == {0}


def test_the_papers_scores_are_means_of_the_last_three_evaluations() -> None:
    sweep = shipped_sweeps()["paper-main"]
    assert sweep.evaluation.last == 3
    for job in sweep.jobs():
        marks = sweep.pace_of(job.config).marks(job.config.steps)
        assert marks[-1] == job.config.steps
        assert len(marks) >= sweep.evaluation.last


def test_names_follow_from_the_configuration_alone() -> None:
    name = Job(resolve(TASK, seed=3)).name
    assert name == Job(resolve(TASK, seed=3)).name
    assert name.startswith(f"{TASK}/gcbc-gs-blockwise-")
    assert name.endswith("-s3")
    assert Job(resolve(TASK, seed=4)).group == Job(resolve(TASK, seed=3)).group
    for changed in (
        resolve(TASK, seed=3, overrides={"steps": 7}),
        resolve(TASK, seed=3, preset="paper"),
        resolve(TASK, seed=3, overrides={"clip": None}),
        resolve(TASK, seed=3, overrides={"direct": 20}),
    ):
        assert Job(changed).name != name
        assert Job(changed).group != Job(resolve(TASK, seed=3)).group


def test_runs_that_are_there_keep_their_names() -> None:
    """A field that came later is no part of a name as long as it says what was done before."""
    runs = Path(__file__).parents[2] / "results" / "runs"
    found = list(runs.glob("*/*/config.json"))
    assert found
    for path in found:
        assert Job(read_config(path)).name == str(path.parent.relative_to(runs))


def test_runs_that_are_done_stay_so() -> None:
    """Chains of questions came later: a sweep without them has the duties that it had before."""
    before = [{"episodes": 10, "last": 1}, ["suite.json"]]
    digest = hashlib.blake2b(json.dumps(before).encode(), digest_size=6).hexdigest()
    suites = (Path("suite.json"),)
    assert Duties(Pace(), Evaluation(), suites).digest == digest
    assert Duties(Pace(), Evaluation(plan=True), suites).digest != digest


def test_overrides_are_an_axis_and_equal_runs_are_one() -> None:
    sweep = small(
        learners=("gcbc", "gcdl"),
        seeds=(0,),
        overrides=({"steps": 40}, {"steps": 40, "settings": {"alpha": 7.0}}),
    )
    jobs = sweep.jobs()
    # GCBC has no α: its two points are one run.
    assert [job.config.learner for job in jobs] == ["gcbc", "gcdl", "gcdl"]
    assert jobs[2].config.settings["alpha"] == 7.0


def test_a_sweep_comes_back_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("predicates: {a: {query: task}}")
    text = """
    tasks: tabletop-single-v0
    learners: [gcbc, gciql]
    overrides: [{steps: 50}, {settings: {alpha: 0.5}}]
    evaluation: {episodes: 3, last: 2, plan: true}
    suites: [shipped, {description: own.yaml, episodes: 1, schemes: gs-direct, plan: true}]
    """
    sweep = parse_sweep(text, "x.yaml", "mine", tmp_path)
    assert sweep.name == "mine"
    assert sweep.evaluation == Evaluation(3, 2, plan=True)
    assert sweep.suites == (
        SuiteChoice(),
        SuiteChoice(str(tmp_path / "own.yaml"), 1, ("gs-direct",), plan=True),
    )
    write_sweep(sweep, tmp_path / "copy.yaml")
    assert read_sweep(tmp_path / "copy.yaml") == sweep


@pytest.mark.parametrize("name", shipped_sweeps())
def test_shipped_sweeps_come_back(name: str, tmp_path: Path) -> None:
    write_sweep(shipped_sweeps()[name], tmp_path / "copy.yaml")
    assert read_sweep(tmp_path / "copy.yaml") == read_sweep(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("learners: gcbc", "x.yaml: expected a mapping with 'tasks'"),
        ("{tasks: a, lerners: [gcbc]}", "unknown key 'lerners': did you mean 'learners'"),
        ("tasks: tabletop-singel-v0", "unknown task 'tabletop-singel-v0': did you mean"),
        ("{tasks: T, learners: gciq}", "unknown learner 'gciq': did you mean 'gciql'"),
        ("{tasks: T, schemes: gs-block}", "unknown scheme 'gs-block': did you mean"),
        ("{tasks: T, preset: gpu}", "unknown preset 'gpu': did you mean 'cpu'"),
        ("{tasks: T, seeds: [a]}", "'seeds' needs whole numbers, got 'a'"),
        ("{tasks: T, seeds: []}", "'seeds' is empty: the sweep would have no run"),
        ("{tasks: T, overrides: {step: 5}}", "unknown key 'step': did you mean 'steps'"),
        ("{tasks: T, overrides: {seed: 5}}", "'overrides' has an unknown key 'seed'"),
        ("{tasks: T, overrides: [5]}", "'overrides' needs mappings such as {steps: 500}, got 5"),
        (
            "{tasks: T, learners: gcdl, overrides: {settings: {alpa: 1}}}",
            "'settings' has an unknown key 'alpa': did you mean 'alpha'",
        ),
        ("{tasks: T, overrides: {steps: 0}}", "steps must be 1 or more, got 0"),
        ("{tasks: T, evaluation: {episode: 5}}", "unknown key 'episode': did you mean 'episodes'"),
        ("{tasks: T, evaluation: {last: 9}}", "'last' of 'evaluation' is 9, but a run of 1,500"),
        ("{tasks: T, evaluation: {plan: 1}}", "'plan' of 'evaluation' needs true or false, got 1"),
        ("{tasks: T, pace: {log_every: 0}}", "'log_every' of 'pace' must be 1 or more"),
        ("{tasks: T, pace: {log_every: x}}", "'log_every' of 'pace' needs a whole number, got 'x'"),
        ("{tasks: T, data: {make: buy}}", "'make' of 'data' needs never or collect or download"),
        ("{tasks: T, suites: nowhere.yaml}", "which is not a file. Name a YAML file, or 'shipped'"),
        ("{tasks: T, suites: {schemes: [7]}}", "'schemes of suites' needs names, got 7"),
        ("{tasks: T, suites: {schemes: gs-dirct}}", "gs-direct"),
        ("{tasks: [", "x.yaml is not YAML"),
    ],
)
def test_errors_name_the_key_and_the_near_ones(text: str, message: str) -> None:
    with pytest.raises(SweepError, match=message.replace("[", r"\[").replace("{", r"\{")):
        parse_sweep(text.replace("tasks: T", f"tasks: {TASK}"), "x.yaml", "x")


def test_unknown_sweep_lists_the_near_ones() -> None:
    with pytest.raises(SweepError, match="no sweep 'paper-mian': did you mean 'paper-main'"):
        read_sweep("paper-mian")


def test_fields_of_a_sweep_are_checked_without_a_file() -> None:
    with pytest.raises(SweepError, match="'tasks' is empty"):
        Sweep(name="x", tasks=())
    assert dataclasses.replace(small(), seeds=(5,)).jobs()[0].config.seed == 5


def test_a_suite_may_be_for_runs_of_some_schemes(tmp_path: Path) -> None:
    suites = (SuiteChoice("shipped", 1, ("gs-direct",)),)
    sweep = Sweep("one", (TASK,), schemes=("gs-direct", "her-full"), suites=suites)
    asked = {job.config.scheme: duties_of(sweep, tmp_path, job).suites for job in sweep.jobs()}
    assert len(asked["gs-direct"]) == 1
    assert asked["her-full"] == ()


def test_a_suite_may_be_asked_by_chains_too(tmp_path: Path) -> None:
    chosen = (SuiteChoice("shipped", 1), SuiteChoice("shipped", 2, plan=True))
    sweep = Sweep("one", (TASK,), suites=chosen)
    duties = duties_of(sweep, tmp_path, sweep.jobs()[0])
    assert len(duties.suites) == 2
    assert duties.planned == duties.suites[1:]
    assert duties.digest != dataclasses.replace(duties, planned=()).digest
