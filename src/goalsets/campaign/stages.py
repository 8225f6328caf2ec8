"""Make our results: `make results`, or `python -m goalsets.campaign [STAGE ...]`.

The campaign has stages. Each trains the grids that have no records yet, keeps the records of every
new run, and writes its tables and figures into the docs. It first says how much there is to do and
about how long it takes. Stop it when you like; the same command continues.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goalsets.campaign import chains, direct, fidelity, peers, plain
from goalsets.campaign.times import Estimates, Times
from goalsets.campaign.training import keep_records, missing, train_missing
from goalsets.sweep import read_sweep
from goalsets.sweep.grid import Job, Sweep


@dataclass(frozen=True)
class Stage:
    """A part of the campaign that can be run alone."""

    name: str
    says: str
    """What it measures, in a few words."""
    grids: tuple[Path, ...]
    runs: Path
    """Where its runs are trained."""
    records: Path
    """Where their records are kept."""
    write: Callable[[], None]
    """Writes its tables and figures from the records."""

    def missing(self, patterns: Sequence[str] = ()) -> Iterator[tuple[Path, Sweep, Job]]:
        """Runs without records."""
        for grid in self.grids:
            sweep = read_sweep(str(grid))
            for job in missing(sweep, patterns, self.records):
                yield grid, sweep, job


def _hour(
    name: str, says: str, grids: Sequence[str], write: Callable[[], None] = chains.write
) -> Stage:
    """A stage of grids in results/hour, which share a directory and with it their runs."""
    files = tuple(chains.PLACE / f"{grid}.yaml" for grid in grids)
    return Stage(name, says, files, chains.RUNS, chains.PLACE / "runs", write)


STAGES = (
    Stage(
        "plain",
        "the paper's learners and schemes in minutes",
        tuple(plain.RESULTS / "sweeps" / f"{name}.yaml" for name in plain.GRIDS),
        plain.RUNS,
        plain.RESULTS / "runs",
        plain.write,
    ),
    _hour("chains", "official goals at once and by a chain", chains.GRIDS),
    _hour("direct", "suites of questions, and an ablation", direct.GRIDS, direct.write),
    _hour("schemes", "official goals under the paper's schemes", chains.BASELINES),
    _hour("beyond", "official goals of harder tasks", chains.BEYOND),
    Stage(
        "fidelity",
        "the paper preset at a tenth of its steps",
        tuple(fidelity.PLACE / f"{name}.yaml" for name in fidelity.GRIDS),
        fidelity.RUNS,
        fidelity.PLACE / "runs",
        fidelity.write,
    ),
    # `python -m benchmarks.peers` trains what this table needs: the peers are not part of goalsets.
    Stage("peers", "only writes the table", (), Path("runs/peers"), peers.RECORDS, peers.write),
)


def main(words: Sequence[str] | None = None) -> None:
    """Train what is missing, keep the records and write the tables."""
    names = [stage.name for stage in STAGES]
    parser = argparse.ArgumentParser(
        prog="python -m goalsets.campaign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="stages:\n" + "\n".join(f"  {stage.name:9}{stage.says}" for stage in STAGES),
    )
    parser.add_argument("stages", nargs="*", metavar="STAGE", help="by default all, in order")
    parser.add_argument("--only", nargs="+", default=[], help='names of runs: "*gciql*" "*-s1"')
    parser.add_argument(
        "--list", action="store_true", help="say what is missing, and train nothing"
    )
    parser.add_argument("--records", action="store_true", help="train nothing, write the tables")
    asked = parser.parse_args(words)
    for name in asked.stages:
        if name not in names:
            parser.error(f"there is no stage {name!r}; the stages are {', '.join(names)}")
    stages = [stage for stage in STAGES if not asked.stages or stage.name in asked.stages]
    wanted = {job.name for s in STAGES for grid in s.grids for job in read_sweep(str(grid)).jobs()}
    for stage in stages:
        keep_records(stage.runs, stage.records, wanted)
    if not asked.records:
        print(overview(stages, asked.only), flush=True)
    if asked.list:
        return
    for stage in stages:
        for grid in () if asked.records else stage.grids:
            train_missing(grid, asked.only, stage.runs, stage.records)
        stage.write()


def overview(stages: Sequence[Stage], patterns: Sequence[str] = ()) -> str:
    """What there is to do, as text: a line for each grid with missing runs.

    A run that two grids ask for counts once, with the first of them.
    """
    estimates = Estimates(dict.fromkeys(stage.records for stage in STAGES))
    head = f"{'stage':9}{'grid':21}{'runs':>5}  about, in hours of one core"
    lines: list[str] = []
    seen: set[str] = set()
    total, count = Times(0.0, 0.0, 0.0), 0
    for stage in stages:
        by_grid: dict[Path, list[tuple[Sweep, Job]]] = {}
        for grid, sweep, job in stage.missing(patterns):
            if job.name not in seen:
                by_grid.setdefault(grid, []).append((sweep, job))
        for grid, jobs in by_grid.items():
            seen |= {job.name for _, job in jobs}
            times = estimates.of(jobs)
            total, count = total + times, count + len(jobs)
            lines.append(f"{stage.name:9}{grid.stem:21}{len(jobs):>5}  {_spoken(times)}")
    if not lines:
        return "All runs have records: nothing to train."
    return "\n".join([head, *lines, f"{'all':30}{count:>5}  {_spoken(total)}"])


def _spoken(times: Times) -> str:
    parts = (
        f"collecting {times.collecting:.1f}",
        f"training {times.training:.1f}",
        f"asking {times.asking:.1f}",
    )
    return f"{times.total:5.1f} ({', '.join(parts)})"
