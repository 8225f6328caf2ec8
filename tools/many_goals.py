"""One model, many goals, measured: the table of the suite's records beside the paper's numbers.

    python tools/learning.py cpu && python tools/learning.py schemes
    goalsets suite build cube-single-noisy-v0 -o runs/suite.json
    goalsets suite run runs/learning/cpu/{gcbc,gcdl} runs/learning/schemes/* --suite runs/suite.json
    python tools/many_goals.py

Writes results/many-goals.csv, and the table between the marks of docs/evaluation.md.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from goalsets.evaluate.stats import Rate
from goalsets.train.run import CONFIG, Run

RUNS, PAPER = Path("runs/learning"), Path("results/paper/predicates.csv")
RESULT, PAGE = Path("results/many-goals.csv"), Path("docs/evaluation.md")


def main() -> None:
    """Read the records and write the table."""
    found: dict[str, dict[str, str]] = {}
    for config in sorted(RUNS.glob(f"*/*/{CONFIG}")):
        run = Run.open(config.parent)
        records = [r for r in run.evaluations() if r["kind"] == "suite"]
        if records and config.parent.parent.name in ("cpu", "schemes"):
            name = f"{run.config.learner} {run.config.scheme}"
            found[name] = {k: _cell(v) for k, v in records[-1]["by_predicate"].items()}
    with PAPER.open(newline="", encoding="utf-8") as file:
        paper = {row["predicate"]: row for row in csv.DictReader(file)}
    columns = ["predicate", *found, "paper, her-full", "paper, gs-blockwise"]
    rows = [
        {
            "predicate": predicate,
            **{name: cells.get(predicate, "") for name, cells in found.items()},
            "paper, her-full": f"{told['her_full_mean']} ± {told['her_full_std']}",
            "paper, gs-blockwise": f"{told['gs_blockwise_mean']} ± {told['gs_blockwise_std']}",
        }
        for predicate, told in paper.items()
    ]
    with RESULT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(row[c] for c in columns) + " |" for row in rows]
    print("\n".join(lines))
    text = PAGE.read_text(encoding="utf-8")
    marks = re.compile(r"<!-- results: many-goals -->.*?<!-- end -->", re.DOTALL)
    block = "<!-- results: many-goals -->\n" + "\n".join(lines) + "\n<!-- end -->"
    PAGE.write_text(marks.sub(lambda _: block, text), encoding="utf-8")


def _cell(told: dict[str, object]) -> str:
    if "not_asked" in told:
        return "not asked"
    count = int(str(told["num_episodes"]))
    rate = Rate(round(float(str(told["success"])) * count), count)
    low, high = rate.interval
    return f"{100 * rate.value:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


if __name__ == "__main__":
    main()
