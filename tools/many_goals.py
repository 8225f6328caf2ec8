"""One model, many goals, measured: the report's table of predicates, into the docs.

    python tools/learning.py cpu && python tools/learning.py schemes
    goalsets suite build cube-single-noisy-v0 -o runs/suite.json
    goalsets suite run runs/learning/cpu/{gcbc,gcdl} runs/learning/schemes/* --suite runs/suite.json
    python tools/many_goals.py

Writes results/many-goals.csv, and the table between the marks of docs/evaluation.md.
"""

from __future__ import annotations

import re
from pathlib import Path

from goalsets.report.collect import collect
from goalsets.report.results import gather
from goalsets.report.suites import gather_suites, predicate_table

RUNS = (Path("runs/learning/cpu"), Path("runs/learning/schemes"))
RESULT, PAGE = Path("results/many-goals.csv"), Path("docs/evaluation.md")


def main() -> None:
    """Read the records and write the table."""
    found = collect(RUNS)
    (seen,) = gather_suites(gather(found.runs, found.notes), [])
    table = predicate_table(seen)
    RESULT.write_text(table.to_csv(), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    marks = re.compile(r"<!-- results: many-goals -->.*?<!-- end -->", re.DOTALL)
    block = f"<!-- results: many-goals -->\n{table.to_markdown()}<!-- end -->"
    PAGE.write_text(marks.sub(lambda _: block, text), encoding="utf-8")
    print(table.to_markdown())


if __name__ == "__main__":
    main()
