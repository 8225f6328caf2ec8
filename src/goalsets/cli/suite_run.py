"""`goalsets suite run`: ask runs the questions of a suite, and compare the runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from goalsets.cli.counts import OptionalCount, OptionalSize
from goalsets.cli.printing import print_table

CHAIN = ", with a chain"


def run(  # noqa: PLR0913, PLR0917 - the flags of a command
    runs: Annotated[tuple[Path, ...], tyro.conf.Positional],
    suite: Path,
    step: OptionalSize = None,
    only: tuple[str, ...] = (),
    episodes: OptionalCount = None,
    again: bool = False,
    plan: bool = False,
    data: Path | None = None,
    workers: OptionalCount = None,
) -> None:
    """Ask runs every question of a suite, and compare them on the same episodes.

    A predicate is a question with its goals. A HER-Full run gets the full reference state as its
    goal, but is judged by the predicate. A HER-Task run is asked only the official query. An
    episode succeeds if the predicate holds at any step; the environment's reward is ignored. The
    record, with every episode, is appended to evaluations.jsonl in each run directory. Episodes
    that are recorded there already are not run again.

    Args:
        runs: Run directories; all others are compared with the first.
        suite: The file that 'goalsets suite build' wrote.
        step: A step whose weights were kept; the latest checkpoint unless given.
        only: Predicates to ask; by default all.
        episodes: For a quick look: run only this many episodes from each official start.
        again: Run all episodes, even those that are recorded.
        plan: Ask each run twice: the whole question, and a chain of questions, one part of the goal
            after another, that the planner finds in the data. Chains have their own column and
            their own records.
        data: With --plan, if a run has no planner yet: the store to learn it from; by default the
            one in $GOALSETS_DATA or ~/.goalsets/data under the task's name.
        workers: Processes; by default one for each processor.
    """
    from goalsets.cli.bars import EpisodeBar
    from goalsets.cli.eval import prepare_plans
    from goalsets.core import GoalsetsError
    from goalsets.evaluate.suites import Suite, run_suite
    from goalsets.runs.run import Run

    if not runs:
        raise GoalsetsError("name at least one run directory.")
    loaded = Suite.load(suite)
    opened = [Run.open(path) for path in runs]
    for each in opened:  # before the first of them runs for minutes
        loaded.check_run(each.config.task, each.frame.layout, each.path)
    prepare_plans(opened, plan, data)
    asked = [(each, chain) for each in opened for chain in ((False, True) if plan else (False,))]
    records: list[dict[str, Any]] = []
    for each, chain in asked:
        with EpisodeBar(str(each.path) + (CHAIN if chain else "")) as bar:
            records.append(
                run_suite(
                    each,
                    loaded,
                    step,
                    only=only,
                    episodes=episodes,
                    again=again,
                    plan=chain,
                    workers=workers,
                    watch=bar.watch,
                    say=bar.say,
                )
            )
    _print([each.path for each, _ in asked], records)


def _print(runs: Sequence[Path], records: Sequence[dict[str, Any]]) -> None:
    first = records[0]
    print(f"suite {first['suite']}, digest {first['digest']}")
    letters = [chr(ord("A") + i) if i < 26 else str(i) for i in range(len(runs))]
    for letter, path, record in zip(letters, runs, records, strict=True):
        chain = CHAIN if record.get("plan") else ""
        print(f"  {letter}: {path}, step {record['step']:,}{chain}")
    print_table(
        ("predicate", *letters, "query"),
        [
            (name, *(_cell(r["by_predicate"][name]) for r in records), told["query"])
            for name, told in first["by_predicate"].items()
        ],
    )
    reasons = {
        f"{letter}: {told['not_asked']}; it is not asked the others."
        for letter, record in zip(letters, records, strict=True)
        for told in record["by_predicate"].values()
        if "not_asked" in told
    }
    for reason in sorted(reasons):
        print(reason)
    if len(records) > 1:
        _print_comparisons(letters, records)


def _cell(told: dict[str, Any]) -> str:
    from goalsets.evaluate.stats import Rate

    if "not_asked" in told:
        return "not asked"
    count = told["num_episodes"]
    return str(Rate(round(told["success"] * count), count))


def _print_comparisons(letters: Sequence[str], records: Sequence[dict[str, Any]]) -> None:
    from goalsets.evaluate.compare import compare_records

    rows = [
        (
            c.predicate,
            f"{letter} - {letters[0]}",
            f"{100 * c.difference:+.0f}",
            f"[{100 * c.interval[0]:.0f}, {100 * c.interval[1]:.0f}]",
            f"{c.only_second} : {c.only_first}",
            f"{c.p_value:.2g}",
        )
        for letter, record in zip(letters[1:], records[1:], strict=True)
        for c in compare_records(records[0], record)
    ]
    print(
        "Paired by episode: the difference in percentage points with its 95 % bootstrap interval,"
    )
    print("the episodes that only one of the two solved, and McNemar's exact p.")
    print_table(("predicate", "runs", "difference", "interval", "only one", "p"), rows)
