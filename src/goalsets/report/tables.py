"""A table: formatted in Markdown, LaTeX and HTML, and its numbers in CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MISSING = "—"
"""The text of a cell without a result."""

Record = Mapping[str, str | int | float | None]

_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "×": r"$\times$",
    "†": r"$^\dagger$",
    "Δ": r"$\Delta$",
    "≥": r"$\ge$",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
}


@dataclass(frozen=True)
class Entry:
    """A cell of a table."""

    text: str
    note: str = ""
    """Small print beside it, such as the paper's number."""
    bold: bool = False
    code: bool = False
    """Whether it is a name, to be formatted as code."""


@dataclass(frozen=True)
class Table:
    """A table that people read, and the numbers behind it."""

    name: str
    """The name of its files, and of the LaTeX label."""
    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Entry]]
    records: Sequence[Record]
    """The rows of the CSV file, to six digits."""
    left: int = field(default=1)
    """How many of the first columns are names, not numbers."""

    def to_csv(self) -> str:
        """The numbers, one record per line; an empty field is missing."""
        names = list(dict.fromkeys(name for record in self.records for name in record))
        text = io.StringIO()
        writer = csv.DictWriter(text, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _plain(v) for k, v in record.items()} for record in self.records)
        return text.getvalue()

    def to_markdown(self) -> str:
        """A pipe table with its caption below."""
        lines = [f"| {' | '.join(map(_pipe, self.columns))} |"]
        lines.append("|" + "---|" * self.left + "---:|" * (len(self.columns) - self.left))
        lines += [f"| {' | '.join(map(_markdown, row))} |" for row in self.rows]
        return "\n".join([*lines, "", f"*{self.caption}*", ""])

    def to_latex(self) -> str:
        r"""A `table` for a document with `\usepackage{booktabs,graphicx}`; wide ones are shrunk."""
        align = "l" * self.left + "c" * (len(self.columns) - self.left)
        body: list[str] = []
        for row, above in zip(self.rows, [None, *self.rows], strict=False):
            if above is not None and above[0].text != row[0].text:
                body.append(r"\midrule")
            body.append(" & ".join(map(_latex, row)) + r" \\")
        return "\n".join(
            [
                r"% Needs \usepackage{booktabs,graphicx}.",
                r"\begin{table}[t]",
                r"\centering\small\setlength{\tabcolsep}{4pt}",
                rf"\caption{{\textbf{{{escape_tex(self.title)}.}} {escape_tex(self.caption)}}}",
                rf"\label{{tab:{self.name}}}",
                r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
                rf"\begin{{tabular}}{{{align}}}",
                r"\toprule",
                " & ".join(map(escape_tex, self.columns)) + r" \\",
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}}",
                r"\end{table}",
                "",
            ]
        )


def escape_tex(text: str) -> str:
    """Text escaped for LaTeX."""
    return "".join(_TEX.get(character, character) for character in text)


def points(value: float) -> str:
    """A difference in percentage points, with its sign."""
    return f"{value:+.0f}".replace("-", "−").replace("+0", "0").replace("−0", "0")


def plain_name(text: str) -> str:
    """A name for a file."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


def _plain(value: str | float | None) -> str | int | float | None:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _pipe(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def _markdown(entry: Entry) -> str:
    text = _pipe(entry.text)
    if entry.code and text:
        text = f"`{text}`"
    if entry.bold:
        text = f"**{text}**"
    return f"{text} <sub>{_pipe(entry.note)}</sub>" if entry.note else text


def _latex(entry: Entry) -> str:
    text = escape_tex(entry.text)
    if entry.code:
        text = rf"\texttt{{{text}}}"
    if entry.bold:
        text = rf"\textbf{{{text}}}"
    if entry.note:
        small = rf"{{\scriptsize {escape_tex(entry.note)}}}"
        text = rf"\begin{{tabular}}[c]{{@{{}}c@{{}}}}{text}\\[-2pt]{small}\end{{tabular}}"
    return text
