"""A figure with its caption, and the mark of each scheme in all figures.

Colours are those of Okabe and Ito, which people with any colour vision can tell apart. Every scheme
also has its own marker, hatch and line style, so that no figure relies on colours.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from goalsets.report.published import ordered_schemes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
BETTER, WORSE = "#0072B2", "#D55E00"
PAPER_COLOUR = "#8a8a8a"


@dataclass(frozen=True)
class Drawing:
    """A figure and its caption."""

    name: str
    """The name of its files."""
    title: str
    caption: str
    figure: Figure
    vector: bool = True
    """Whether the page shows it as SVG; pictures and surfaces are better as PNG."""


@dataclass(frozen=True)
class Mark:
    """How a scheme looks in every figure."""

    colour: str
    marker: str
    hatch: str
    line: Any
    """A line style of matplotlib."""


_MARKS = (
    Mark("#7f7f7f", "o", "", ":"),
    Mark("#000000", "|", "xx", "--"),
    Mark("#0072B2", "*", "", "-"),
    Mark("#E69F00", "D", "//", "-."),
    Mark("#009E73", "^", "..", (0, (5, 1))),
    Mark("#CC79A7", "s", "\\\\", (0, (3, 1, 1, 1))),
    Mark("#56B4E9", "v", "--", (0, (1, 1))),
    Mark("#D55E00", "P", "++", (0, (8, 2))),
)


def mark(scheme: str) -> Mark:
    """The mark of a scheme, by its place in the list, so that the paper's never change."""
    return _MARKS[ordered_schemes().index(scheme) % len(_MARKS)]


def short_task(task: str) -> str:
    """A task's name without the part that all tasks have."""
    return task.removesuffix("-v0").replace("-navigate", "")


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Set letters, lines and the formats' options for all figures of a report."""
    import matplotlib as mpl

    with mpl.rc_context(
        {
            "font.size": 9.5,
            "axes.titlesize": 10,
            "axes.labelsize": 9.5,
            "legend.fontsize": 8.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "grid.color": "#e4e4e4",
            "hatch.linewidth": 0.6,
            "legend.frameon": False,
            # The same runs give the same bytes, so a committed figure changes only with its runs.
            "svg.hashsalt": "goalsets",
            "pdf.fonttype": 42,
        }
    ):
        yield


def place_legend(
    figure: Figure, handles: Sequence[Any], place: Literal["lower", "upper"] = "lower"
) -> None:
    """Put a legend below or above a figure, in as many rows as its width needs."""
    inches = [0.65 + 0.072 * len(str(handle.get_label())) for handle in handles]
    columns = max(1, min(len(handles), int(figure.get_figwidth() / max(inches, default=1.0))))
    if sum(inches) < figure.get_figwidth():
        columns = len(handles)
    # Matplotlib's type hints lack the places outside.
    where: Any = f"outside {place} center"
    figure.legend(handles=list(handles), loc=where, ncols=max(1, columns))


def outline(drawn: Any) -> None:  # noqa: ANN401 - matplotlib's container of lines
    """Give the lines of error bars a white edge, so that they show on bars of any colour."""
    from matplotlib.patheffects import withStroke

    line, caps, bars = drawn.lines
    for part in (line, *caps, *bars):
        if part is not None:
            part.set_path_effects([withStroke(linewidth=3.0, foreground="white")])


def save(drawing: Drawing, directory: Path) -> list[Path]:
    """Write a figure in every format."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / f"{drawing.name}.{kind}" for kind in FORMATS]
    dates: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    # Lay it out once for all formats, because that takes most of the time.
    drawing.figure.draw_without_rendering()
    drawing.figure.set_layout_engine("none")
    for kind, path in zip(FORMATS, paths, strict=True):
        drawing.figure.savefig(path, dpi=170, metadata=dates.get(kind))
    return paths
