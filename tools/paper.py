"""Write the report as a PDF: `make paper`, or `python tools/paper.py FILE.pdf`.

Needs pandoc and XeLaTeX. On Debian and Ubuntu: `apt install pandoc texlive-xetex
texlive-fonts-recommended lmodern fonts-dejavu-core`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

REPORT = Path(__file__).resolve().parents[1] / "docs" / "report.md"
PAGES = "https://github.com/goalsets/goalsets/blob/main/docs/"
"""Links to other pages lead here: a PDF lies beside no page."""
PROGRAMS = {"pandoc": "pandoc", "xelatex": "texlive-xetex texlive-fonts-recommended"}
"""Programs, and the Debian packages that have them."""
FORM = "markdown-superscript-subscript-tex_math_dollars-smart"
LOOK = (
    "mainfont=DejaVu Serif",
    "monofont=DejaVu Sans Mono",
    "geometry=margin=2cm",
    "fontsize=10pt",
    r"header-includes=\usepackage{etoolbox}\AtBeginEnvironment{longtable}{\footnotesize}",
)


def main(words: list[str]) -> int:
    """Write the PDF; return the exit code."""
    if len(words) != 1 or words[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if words and words[0] in ("-h", "--help") else 2
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        packages = " ".join(PROGRAMS[program] for program in missing)
        print(f"error: {' and '.join(missing)} not found. On Debian: apt install {packages}")
        return 1
    file = Path(words[0])
    file.parent.mkdir(parents=True, exist_ok=True)
    options = [word for look in LOOK for word in ("-V", look)]
    command = ["pandoc", "-f", FORM, "-o", str(file), "--pdf-engine=xelatex", *options]
    text = prepared(REPORT.read_text(encoding="utf-8"))
    ended = subprocess.run(command, input=text, text=True, check=False)
    if ended.returncode == 0:
        print(f"Written: {file}")
    return ended.returncode


def prepared(text: str) -> str:
    """The page for pandoc: columns as wide as their text, and links that work from anywhere."""
    text = re.sub(r"<!-- .*? -->\n", "", text)
    text = re.sub(r"(?:^\|.*\n)+", lambda table: _with_widths(table.group(0)), text, flags=re.M)
    return re.sub(r"\]\((?!https?:)(\.\./)?([^)#]*)", _address, text)


def _with_widths(table: str) -> str:
    """The table with as many dashes under a head as its column has letters, up to 40.

    Pandoc breaks the lines of a wide table, and takes the widths of its columns from the dashes.
    """
    rows = [line.strip("|").split("|") for line in table.splitlines()]
    for column, rule in enumerate(rows[1]):
        longest = max(len(row[column].strip()) for row in rows if row is not rows[1])
        rows[1][column] = "-" * min(longest, 40) + (":" if rule.endswith(":") else "")
    return "".join(f"|{'|'.join(row)}|\n" for row in rows)


def _address(match: re.Match[str]) -> str:
    base = PAGES.removesuffix("docs/") if match.group(1) else PAGES
    return f"]({base}{match.group(2)}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
