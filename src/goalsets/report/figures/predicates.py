"""One model, many predicates: bars with intervals, a group for each question."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from goalsets.report.figures.drawing import Drawing, mark, outline, place_legend
from goalsets.report.suites import Column, SuiteResults, predicate_budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_predicates(seen: SuiteResults) -> list[Drawing]:
    """Draw a suite: a figure for each learner and recipe, so that each has few bars."""
    groups: dict[tuple[str, str], list[Column]] = {}
    for column in seen.columns:
        groups.setdefault((column.learner, column.variant), []).append(column)
    return [
        _draw(seen, columns, learner, variant, number)
        for number, ((learner, variant), columns) in enumerate(groups.items())
    ]


def _draw(
    seen: SuiteResults, columns: list[Column], learner: str, variant: str, number: int
) -> Drawing:
    from matplotlib.figure import Figure

    names = list(seen.queries)
    width = min(0.4, 0.8 / len(columns))
    figure = Figure(figsize=(max(5.5, 1.9 + 1.15 * len(names)), 3.9), layout="constrained")
    axis = figure.subplots()
    for index, column in enumerate(columns):
        look = mark(column.scheme)
        for place, name in enumerate(names):
            x = place + (index - (len(columns) - 1) / 2) * width
            share = column.share(name)
            if share is None:
                word = "not asked" if column.refused(name) else "missing"
                axis.text(x, 1.5, word, rotation=90, ha="center", va="bottom", fontsize=7.5,
                          color="#5f5f5f")  # fmt: skip
                continue
            low, high = share.interval
            axis.bar(x, share.mean, 0.9 * width, color=look.colour, hatch=look.hatch,
                     edgecolor="white", linewidth=0.5)  # fmt: skip
            drawn = axis.errorbar(
                x, share.mean, [[max(0.0, share.mean - low)], [max(0.0, high - share.mean)]],
                color="#303030", linewidth=1, capsize=2.5,
            )  # fmt: skip
            outline(drawn)
            paper = seen.published(column, name)
            if paper is not None:
                axis.plot([x - 0.42 * width, x + 0.42 * width], [paper.mean] * 2, color="#D55E00",
                          linewidth=2, solid_capstyle="butt")  # fmt: skip
    axis.set_xticks(range(len(names)), [_wrapped(name) for name in names])
    axis.tick_params(axis="x", length=0)
    axis.set_ylim(0, 106)
    axis.set_yticks(range(0, 101, 20))
    axis.set_ylabel("success, %")
    axis.grid(axis="y")
    axis.set_title(f"{learner} on {seen.task}" + (f" ({variant})" if variant else ""))
    _legend(figure, seen, columns)
    which = f"-{number}" if variant else ""
    return Drawing(
        f"{seen.name}-{learner}{which}",
        f"One model, many predicates: {learner} on {seen.task}",
        (
            "Success of one checkpoint on many questions, with 95 % intervals: the wider of that "
            "over seeds (bootstrap) and that over episodes (Wilson). her-full is shown the whole "
            "reference and judged by the question; her-task is asked only its own. "
            + predicate_budget(seen, columns)
        ),
        figure,
    )


def _wrapped(name: str) -> str:
    return "\n".join(textwrap.wrap(name.replace("_", " "), 13))


def _legend(figure: Figure, seen: SuiteResults, columns: list[Column]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for column in columns:
        look, count = mark(column.scheme), len(column.answered)
        seeds = "1 seed" if count == 1 else f"{count} seeds"
        handles.append(
            Patch(
                facecolor=look.colour,
                hatch=look.hatch,
                edgecolor="white",
                label=f"{column.scheme} ({seeds})",
            )
        )
    if any(seen.published(column, name) for column in columns for name in seen.queries):
        handles.append(Line2D([], [], color="#D55E00", linewidth=2, label="paper, same scheme"))
    place_legend(figure, handles)
