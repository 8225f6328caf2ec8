"""The report as one self-contained HTML page, and as Markdown beside its figures."""

from __future__ import annotations

import base64
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path

import goalsets
from goalsets.report.figures.drawing import Drawing
from goalsets.report.reading import Note
from goalsets.report.results import Results
from goalsets.report.tables import Table
from goalsets.webpage import write_webpage

_TYPES = {"svg": "image/svg+xml", "png": "image/png"}


@dataclass(frozen=True)
class Section:
    """A heading with its parts; `empty` is the text if there are none."""

    title: str
    text: str
    parts: Sequence[Table | Drawing]
    empty: str


@dataclass(frozen=True)
class Report:
    """All of a report, in order."""

    title: str
    results: Results
    sections: Sequence[Section]
    notes: Sequence[Note]

    @property
    def summary(self) -> str:
        """What the report covers, in a sentence."""
        seeds = {run.config.seed for run in self.results.runs}
        return (
            f"{_count(self.results.runs, 'run')} of {_count(self.results.learners, 'learner')} on "
            f"{_count(self.results.tasks, 'task')}, with {_count(seeds, 'seed')}; "
            f"{_count(self.results.cells, 'cell')} with a score."
        )


def write_html(report: Report, figures: Path, path: Path) -> None:
    """Write the page with all figures inside it."""
    drawings = [p for s in report.sections for p in s.parts if isinstance(p, Drawing)]
    write_webpage(
        "goalsets.report",
        path,
        report=report,
        version=goalsets.__version__,
        images={drawing.name: _inline(drawing, figures) for drawing in drawings},
        # As wide as it was drawn, so that letters have the same size on the whole page.
        widths={d.name: round(96 * d.figure.get_figwidth()) for d in drawings},
        is_table=lambda part: isinstance(part, Table),
    )


def write_markdown(report: Report, figures: str, path: Path) -> None:
    """Write the report as Markdown, with links to the files of figures."""
    lines = [f"# {report.title}", "", report.summary, ""]
    for section in report.sections:
        lines += [f"## {section.title}", "", section.text, ""]
        if not section.parts:
            lines += [f"*{section.empty}*", ""]
        for part in section.parts:
            if isinstance(part, Table):
                lines += [f"### {part.title}", "", part.to_markdown()]
            else:
                lines += [
                    f"![{part.title}]({figures}/{part.name}.png)",
                    "",
                    f"*{part.title}. {part.caption}*",
                    "",
                ]
    lines += ["## What was left out", ""]
    lines += [f"- `{note.place}`: {note.reason}" for note in report.notes] or ["Nothing."]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _inline(drawing: Drawing, figures: Path) -> str:
    kind = "svg" if drawing.vector else "png"
    content = (figures / f"{drawing.name}.{kind}").read_bytes()
    return f"data:{_TYPES[kind]};base64,{base64.b64encode(content).decode()}"


def _count(things: Sized, name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"
