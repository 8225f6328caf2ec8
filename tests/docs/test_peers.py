"""The tables of peers and of fidelity: made from records, and the pages show what these say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from goalsets.campaign import fidelity, peers
from goalsets.campaign.fidelity import curves, order
from goalsets.campaign.times import Estimates
from goalsets.runs.records import EVALUATIONS
from goalsets.sweep import read_sweep

ROOT = Path(__file__).parents[2]


def record(kind: str, *points: tuple[float, float], seed: int = 0, **other: Any) -> dict[str, Any]:
    """A record whose curve has points of seconds and success."""
    way = "by a chain" if kind == "ours" else "at once"
    curve = [
        {"seconds": s, "step": int(s), "asked": {way: {"success": rate, "num_episodes": 50}}}
        for s, rate in points
    ]
    known = {
        "task": "pointmaze-medium-navigate-v0",
        "contestant": f"{kind} gcbc",
        "kind": kind,
        "learner": "gcbc",
        "settings": {"scheme": "gs-direct"} if kind == "ours" else {},
        "seed": seed,
        "data": {"fingerprint": "abc", "episodes": 300},
        "episodes": 10,
        "budget_seconds": 3600.0,
        "ended": "budget",
        "curve": curve,
    }
    return known | other


OURS = record("ours", (5.0, 0.4), (30.0, 0.6), (60.0, 1.0))
PEER = record("ogbench", (60.0, 0.2), (900.0, 0.52), (1200.0, 0.3), (3600.0, 0.7))


def test_a_peer_stands_beside_our_fastest_time_to_each_level() -> None:
    *_, ours, peer, _, verdict = peers.table([PEER, OURS]).split("\n")
    assert ours == (
        "| pointmaze-medium-navigate-v0 | ours: GCBC, gs-direct, by a chain | 0.5 | 1.0 | 1.0 | "
        "100 % | 60 | 1 |"
    )
    assert peer == (
        "| pointmaze-medium-navigate-v0 | OGBench: GCBC | 15 (30×) | not in 60 (> 60×) | "
        "not in 60 (> 60×) | 70 % | 3,600 | 1 |"
    )
    assert verdict == (
        "*Levels that peers reached: 1; levels that they missed: 2. Of the reached ones, the "
        "smallest ratio to ours is "
        "30×: this meets our goal of 20×.*"
    )


def test_a_slow_result_of_ours_is_told_as_it_is() -> None:
    slow = record("ours", (1800.0, 0.6))
    text = peers.table([slow, PEER])
    assert "| 15 (0.5×) | not in 60 | not in 60 |" in text
    assert "| 30 | not in 30 | not in 30 |" in text
    assert "0.5×: this misses our goal" in text
    assert "this misses" in peers.table([PEER]), "without any row of ours"
    assert "No peer reached a level" in peers.table([OURS])
    assert peers.table([]) == "Nothing is recorded yet."


def test_seeds_have_a_median_and_newer_records_replace_older_ones() -> None:
    more = [record("ours", (seconds, 1.0), seed=s) for s, seconds in ((1, 20.0), (2, 90.0))]
    (row,) = peers.rows_of([OURS, *more]).values()
    assert peers.median_to(row, "by a chain", 0.95) == 60.0
    missed = [record("ours", (9.0, 0.0), seed=seed) for seed in (1, 2)]
    (row,) = peers.rows_of([OURS, *missed]).values()
    assert math.isinf(peers.median_to(row, "by a chain", 0.5))
    again = record("ours", (10.0, 1.0))
    (row,) = peers.rows_of([OURS, again]).values()
    assert row == [again]


def test_records_of_other_data_stand_in_no_row() -> None:
    other = record("ogbench", (1.0, 1.0), data={"fingerprint": "old", "episodes": 20})
    assert len(peers.rows_of([other, OURS])) == 1
    assert not peers.is_same_run(OURS, other)
    assert peers.is_same_run(OURS, record("ours", (1.0, 0.0)))


def test_a_longer_budget_is_worth_a_run_only_if_the_budget_ended_the_last_one() -> None:
    assert peers.is_long_enough(OURS, 3600.0)
    assert not peers.is_long_enough(OURS, 3601.0)
    assert peers.is_long_enough(OURS | {"ended": "highest level"}, 9999.0)


def test_the_pages_show_what_the_records_say() -> None:
    pages = {
        "docs/results.md": ("peers", peers.table(peers.read_records(ROOT / peers.RECORDS))),
        "docs/reproduce.md": ("fidelity", fidelity.table(_recorded(ROOT / fidelity.PLACE))),
    }
    for page, (name, text) in pages.items():
        place = f"<!-- results: {name} -->\n{text}\n<!-- end -->"
        assert place in (ROOT / page).read_text(), f"python -m goalsets.campaign {name} --records"


def _recorded(place: Path) -> fidelity.Curves:
    sweeps = [read_sweep(str(place / f"{name}.yaml")) for name in fidelity.GRIDS]
    return curves(sweeps, place / "runs")


def test_fidelity_is_a_tenth_of_the_papers_budget() -> None:
    sweep = read_sweep(str(ROOT / fidelity.PLACE / "noisy.yaml"))
    assert sweep.preset == "paper"
    for job in sweep.jobs():
        config = job.config
        assert (config.steps, config.batch_size, config.inputs) == (20_000, 8192, "plain")
        assert config.labels == "predicate"
        assert len(sweep.pace_of(config).marks(config.steps)) == sweep.evaluation.last
    assert {job.config.learner for job in sweep.jobs()} == {"gcbc", "gcdl"}


def test_its_hours_count_every_evaluation() -> None:
    sweep = read_sweep(str(ROOT / fidelity.PLACE / "noisy.yaml"))
    estimates = Estimates([ROOT / "results/runs"])
    jobs = [(sweep, job) for job in sweep.jobs()]
    times = estimates.of(jobs)
    assert times.training > 10, "about a day of one core"
    once = read_sweep(str(ROOT / "results/sweeps/results.yaml"))
    one = next(job for job in once.jobs() if job.name.startswith("cube-single-noisy-v0/gcbc"))
    a_record = estimates.of([(once, one)]).asking
    assert estimates.of(jobs[:1]).asking > 9.9 * a_record, "five records of twice the episodes"


def test_fidelity_is_a_curve_with_the_papers_order(tmp_path: Path) -> None:
    sweep = read_sweep(str(ROOT / fidelity.PLACE / "noisy.yaml"))
    ends = {
        ("gcbc", "her-full"): 0.2,
        ("gcbc", "gs-blockwise"): 0.8,
        ("gcdl", "her-full"): 0.1,
    }
    for job in sweep.jobs():
        end = ends.get((job.config.learner, job.config.scheme))
        if end is None:
            continue
        lines = [
            {"kind": "official", "step": step, "success": share * end, "num_episodes": 100}
            for step, share in ((4_000, 0.5), (20_000, 0.0), (20_000, 1.0))
        ]
        (tmp_path / job.name).mkdir(parents=True)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / job.name / EVALUATIONS).write_text(text)
    found = curves([sweep], tmp_path)
    assert order(found, 20_000) == (2, 3), "GCDL is below GCBC here, and above it in the paper"
    text = fidelity.table(found)
    head, _, first, *_, told = text.split("\n")
    assert head == "| task | learner | scheme | 4,000 steps | 20,000 steps | paper |"
    assert first.startswith("| cube-single-noisy-v0 | gcbc | her-full | 10 [")
    assert first.endswith("| 24 ± 3 |")
    assert told.startswith("*3 pairs of rows on the same task differ by 5 points or more")
    assert "2 of them have the paper's order here after 20,000 steps" in told
