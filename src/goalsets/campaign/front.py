"""The front page: the paper's tasks in one short table and one figure, made from the records."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalsets.campaign.pages import success_cell, training_minutes
from goalsets.report.figures.drawing import BETTER, PAPER_COLOUR, place_legend, short_task, style
from goalsets.report.published import published_scores
from goalsets.report.statistics import success_interval

FIGURE = Path("docs/assets/beside-paper.png")

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """One task: official records of our scheme, at once and by a chain, a seed each."""

    task: str
    at_once: Sequence[Record]
    by_chain: Sequence[Record]
    collecting: float | None
    """Minutes of one core; None where they were not measured."""

    @property
    def paper(self) -> float:
        """The best mean of the paper's main table, over its learners and schemes."""
        return max(s.mean for (_, task, _), s in published_scores().items() if task == self.task)

    @property
    def minutes(self) -> float:
        """Minutes of one core that collecting and training took."""
        return (self.collecting or 0.0) + training_minutes(self.by_chain)


def in_the_paper(tasks: Sequence[str]) -> list[str]:
    """Those tasks that the paper's main table has, in their order."""
    known = {task for _, task, _ in published_scores()}
    return [task for task in tasks if task in known]


def front_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| task | paper's best | ours, asked at once | ours, by a chain | minutes |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {short_task(row.task)} | {row.paper:.0f} | {success_cell(row.at_once)} | "
        f"**{success_cell(row.by_chain)}** | {row.minutes:.0f} |"
        for row in rows
    ]
    return "\n".join(lines) if rows else "Nothing is recorded yet."


def draw_front(rows: Sequence[Row], path: Path = FIGURE) -> None:
    """Draw the rows: the paper's best, ours at once and ours by a chain with its interval."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    look = {
        "paper's best": ("D", PAPER_COLOUR, PAPER_COLOUR),
        "ours, asked at once": ("o", "white", BETTER),
        "ours, by a chain of questions": ("*", BETTER, BETTER),
    }
    with style():
        figure = Figure(figsize=(8.2, 0.85 + 0.4 * len(rows)), layout="constrained")
        axis = figure.subplots()
        for place, row in enumerate(rows):
            chain = [100.0 * r["success"] for r in row.by_chain]
            interval = success_interval(chain, sum(r["num_episodes"] for r in row.by_chain))
            once = 100.0 * statistics.fmean(r["success"] for r in row.at_once)
            found = (row.paper, once, statistics.fmean(chain))
            axis.plot(found[::2], [place] * 2, color="#d5d5d5", linewidth=2, zorder=1)
            # Beside the star, which would hide it.
            axis.plot(interval, [place + 0.27] * 2, color=BETTER, linewidth=1.2, zorder=2)
            for value, (marker, face, edge), size in zip(
                found, look.values(), (42, 42, 130), strict=True
            ):
                axis.scatter(
                    value, place, s=size, marker=marker, facecolor=face, edgecolor=edge, zorder=3,
                    clip_on=False,
                )  # fmt: skip
        axis.set_yticks(range(len(rows)), [short_task(row.task) for row in rows])
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.set_xlim(0, 101.5)
        axis.set_xlabel("official success, %; thin lines are 95 % intervals")
        axis.grid(axis="x")
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        handles = [
            Line2D(
                [], [], linestyle="none", marker=marker, markerfacecolor=face, markeredgecolor=edge,
                markersize=10 if marker == "*" else 6.5, label=label,
            )
            for label, (marker, face, edge) in look.items()
        ]  # fmt: skip
        place_legend(figure, handles, "upper")
        figure.savefig(path, dpi=150, metadata={"Software": None})
