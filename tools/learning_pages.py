"""Put the tables of results/learning into the pages of docs/learners.

`python tools/learning.py <what>` measures and writes the tables. This script fills the text between
`<!-- results: name -->` and `<!-- end -->`, so that no figure is typed by hand.
"""

from __future__ import annotations

import csv
from pathlib import Path

from goalsets.campaign.pages import fill_places

RESULTS, PAGES = Path("results/learning"), Path("docs/learners")

Row = dict[str, str]

_VARIANTS = {
    "schemes": ("gcbc", "gcdl"),
    "ablation": ("gciql",),
    "imitation": ("gcbc",),
    "temperature": ("gcdl",),
}
"""Tables of ablations, and the runs of the cpu preset to compare them with."""

_BUDGET = (
    "cube-single-noisy-v0, 300 collected episodes, two cores, one seed; official success with a "
    "95 % Wilson interval over {episodes} episodes. `python tools/learning.py {what}`"
)


def read(what: str) -> list[Row]:
    """The rows of a table; empty if it has not been measured."""
    path = RESULTS / f"{what}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(rows: list[Row], columns: tuple[str, ...], what: str) -> str:
    """A Markdown table with its caption."""
    budget = _BUDGET.format(episodes=rows[0]["episodes"], what=what)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(row[column] for column in columns) + " |" for row in rows]
    return budget + "\n\n" + "\n".join(lines)


def last(rows: list[Row]) -> list[Row]:
    """The last row of each run."""
    return list({row["run"]: row for row in rows}.values())


def _first_at(rows: list[Row], percent: int) -> str:
    """When each learner first reached a success, and its success at the end."""
    lines = [f"| learner | first seen at {percent} % or more | at the end |", "|---|---|---|"]
    for end in last(rows):
        own = [row for row in rows if row["run"] == end["run"]]
        first = next((row for row in own if int(row["success %"]) >= percent), None)
        seen = "not" if first is None else f"after {first['seconds']} s of training"
        rate = f"{end['success %']} % [{end['95 % interval'].replace(' to ', ', ')}]"
        lines.append(f"| {end['run'].upper()} | {seen} | {rate} after {end['seconds']} s |")
    return "\n".join(lines)


def sections() -> dict[str, str]:
    """The text of each section, by its name."""
    time = ("step", "seconds", "success %", "95 % interval")
    summary = ("run", "batch", *time)
    cpu = read("cpu")
    found = {
        row["run"]: "## Results at the cpu preset\n\n"
        + table([r for r in cpu if r["run"] == row["run"]], time, "cpu")
        for row in cpu
    }
    if cpu:
        found["all"] = table(last(cpu), summary, "cpu")
        found["minutes"] = _first_at(cpu, 90)
    for what, base in _VARIANTS.items():
        if rows := read(what):
            as_it_is = [
                {**r, "run": f"{r['run']}, as it is"} for r in last(cpu) if r["run"] in base
            ]
            found[what] = table([*as_it_is, *last(rows)], summary, what)
    return found


def main() -> None:
    """Fill every page."""
    fill_places(sections(), [*PAGES.glob("*.md"), Path("docs/results.md")])


if __name__ == "__main__":
    main()
