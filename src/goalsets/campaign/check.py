"""How well `goalsets check` predicts success: `python -m goalsets.campaign.check RUN...`.

Takes runs whose evaluations a simulator has recorded (the official question, and suites of
questions), checks the same questions of the same weights on the data alone, and prints how well the
verdict and the score predict success, as a Markdown table. Nothing is written to the runs or to the
data. With `--records FILE`, what was found is kept there, a line for each question, and is not
worked out again; with `--place NAME`, the table goes into docs/check.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from goalsets.campaign.pages import fill_places
from goalsets.check import Checked, Question, check_run, make_question
from goalsets.check.verdict import WORDS
from goalsets.collect.find import find_store
from goalsets.core import Query, door
from goalsets.data.store import Store
from goalsets.data.tolerances import UsualTolerances
from goalsets.evaluate.suites import SuiteError, shipped_description
from goalsets.runs.run import Run, is_planned

PAGES = (Path("docs/check.md"),)
OFFICIAL = "official"
LEAST = 5
"""Questions that a rank correlation needs."""

Row = dict[str, Any]


def main() -> None:
    """Check what is not recorded yet, and print the table."""
    parser = argparse.ArgumentParser(description="Measure how well checks predict success.")
    parser.add_argument("runs", nargs="*", type=Path, help="run directories with evaluations")
    parser.add_argument("--records", type=Path, help="a file that keeps what was found")
    parser.add_argument("--place", help="the place in docs/check.md that the table goes into")
    asked = parser.parse_args()
    known = read_records(asked.records)
    done = {(row["run"], row["step"]) for row in known}
    for path in asked.runs:
        run = Run.open(path)
        if find_store(run.config.task).fingerprint != run.data["fingerprint"]:
            print(f"left out {path}: the data of {run.config.task} is not what it was trained on")
            continue
        for step, wanted in evaluated(run).items():
            if (str(path), step) in done:
                continue
            rows = list(check(run, step, wanted))
            known += [{"run": str(path), **row} for row in rows]
            _write(asked.records, known)
            print(f"checked {path}, step {step:,}: {len(rows)} questions", flush=True)
    text = table(known)
    print(text)
    if asked.place:
        fill_places({asked.place: text}, PAGES)


def evaluated(run: Run) -> dict[int, dict[str, Mapping[str, Any]]]:
    """What a simulator found, by step and name, where the weights were kept; not with chains."""
    found: dict[int, dict[str, Mapping[str, Any]]] = {}
    for record in run.evaluations():
        step = record.get("step")
        if is_planned(record) or step is None or not run.weights(step).exists():
            continue
        told = found.setdefault(step, {})
        if record["kind"] == "official":
            told[OFFICIAL] = {**record, "query": "task"}
        elif record["kind"] == "suite":
            told |= {n: t for n, t in record["by_predicate"].items() if "success" in t}
    return {step: told for step, told in found.items() if told}


def check(run: Run, step: int, wanted: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """Check the questions that a simulator was asked, and put both answers side by side."""
    store = find_store(run.config.task)
    found = check_run(run, store, list(_questions(run, store, wanted)), step=step)
    for checked in found.questions:
        told = wanted[checked.name]
        yield {
            "task": run.config.task,
            "learner": run.config.learner,
            "step": step,
            "question": checked.name,
            "success": told["success"],
            "episodes": told["num_episodes"],
            **measured(checked),
        }


def measured(checked: Checked) -> Row:
    """What was found about a question, as numbers."""
    acts = checked.imitation.overall if checked.imitation is not None else None
    knows, reach = checked.distances, checked.support.reach
    return {
        "verdict": checked.verdict.word,
        "score": checked.verdict.score,
        "reason": checked.verdict.reason,
        "answered": checked.support.answered,
        "answering": checked.support.episodes / checked.support.all_episodes,
        "reach": None if reach is None else reach.share,
        "blocked": None if reach is None else reach.blocked,
        "learned": None if acts is None else acts.learned,
        **({} if acts is None else {f"over_{name}": value for name, value in acts.skill.items()}),
        "direction": None if acts is None else acts.direction,
        "rank_correlation": None if knows is None else knows.rank_correlation,
    }


def _questions(
    run: Run, store: Store, wanted: Mapping[str, Mapping[str, Any]]
) -> Iterator[Question]:
    """The same questions, with the suite's conditions on references where it is one of ours."""
    layout, usual = run.frame.layout, UsualTolerances.of(store.train)
    try:
        conditions = {
            predicate.name: predicate.condition(layout)
            for predicate in shipped_description(run.config.task).predicates
        }
    except SuiteError:
        conditions = {}
    queries = {name: Query.parse(told["query"], layout) for name, told in wanted.items()}
    for name, query in queries.items():
        # A suite may ask the official question, too: it counts once.
        if name == OFFICIAL and list(queries.values()).count(query) > 1:
            continue
        yield make_question(query, usual, name, where=conditions.get(name))


def table(rows: Sequence[Row]) -> str:
    """How well checks predict success, by task and over all, as Markdown."""
    if not rows:
        return "Nothing is recorded yet."
    lines = [
        "| task | checkpoints | questions | success after go | caution | no-go | "
        "verdict ~ success | score ~ success |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    tasks = sorted({row["task"] for row in rows})
    for name, own in [(t, [r for r in rows if r["task"] == t]) for t in tasks] + [("all", rows)]:
        checkpoints = len({(row["run"], row["step"]) for row in own})
        cells = [_success([r for r in own if r["verdict"] == word]) for word in WORDS]
        order = {word: -place for place, word in enumerate(WORDS)}
        lines.append(
            f"| {name} | {checkpoints} | {len(own)} | {' | '.join(cells)} | "
            f"{_agreement(own, [order[r['verdict']] for r in own])} | "
            f"{_agreement(own, [r['score'] for r in own])} |"
        )
    return "\n".join(lines)


def _success(rows: Sequence[Row]) -> str:
    """Mean success in percent, and of how many questions."""
    if not rows:
        return "—"
    return f"{100 * float(np.mean([row['success'] for row in rows])):.0f} ({len(rows)})"


def _agreement(rows: Sequence[Row], values: Sequence[float]) -> str:
    """Spearman's rank correlation with success; a dash where there is too little to correlate."""
    from scipy.stats import rankdata

    success = [row["success"] for row in rows]
    if len(rows) < LEAST or np.ptp(values) == 0 or np.ptp(success) == 0:
        return "—"
    return f"{np.corrcoef(rankdata(values), rankdata(success))[0, 1]:.2f}"


def read_records(path: Path | None) -> list[Row]:
    """What was found before; nothing where no file is named, or is there."""
    if path is None or not path.exists():
        return []
    return door.read_json_lines(path)


def _write(path: Path | None, rows: Sequence[Row]) -> None:
    if path is not None:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
