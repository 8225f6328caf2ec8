"""Lint our prose: `python -m tools.prose [FILE...]`, by default README, docs and examples.

proselint does the work, with some of its checks and with our rules (tools/prose_rules.py).
It reads Markdown, the text of notebooks, and Python's docstrings and comments
(tools/prose_text.py). The linter ignores text between `<!-- prose: off -->` and
`<!-- prose: on -->` on a page.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from proselint.checks import __register__ as proselint_checks
from proselint.registry import CheckRegistry
from proselint.tools import LintFile, LintResult
from tools.prose_rules import PATH, checks
from tools.prose_text import prose

ROOT = Path(__file__).resolve().parents[1]
FILES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "results/README.md",
    "docs/**/*.md",
    "docs/**/*.ipynb",
    "examples/**/*.py",
)
"""The files to lint if none is named."""

OURS = (PATH, "archaism", "hedging", "malapropisms", "redundancy", "nonwords")
"""The checks that run. The others are about journalism and typography, or often wrong here."""


def lint(name: str, text: str) -> list[LintResult]:
    """Return the findings of the rules in prose that `prose_text` has cut out."""
    registry = CheckRegistry()
    if not registry.checks:
        registry.register_many((*proselint_checks, *checks()))
    enabled = dict.fromkeys(OURS, True)
    return LintFile(name, text).lint({"max_errors": 1_000, "checks": enabled})


def files(names: list[str]) -> Iterator[Path]:
    """Yield the named files, also those of named directories. By default yield ours."""
    if not names:
        for each in FILES:
            yield from sorted(ROOT.glob(each))
    for path in map(Path, names):
        suffixes = ("*.md", "*.ipynb", "*.py")
        yield from [path] if path.is_file() else sorted(p for s in suffixes for p in path.rglob(s))


def main() -> None:
    """Print one line for each finding, and exit with 1 if there is any."""
    parser = argparse.ArgumentParser(description="Lint our prose.")
    parser.add_argument("files", nargs="*", help="files or directories; README, docs and examples")
    count = 0
    for path in files(parser.parse_args().files):
        shown = path.resolve().relative_to(ROOT) if path.resolve().is_relative_to(ROOT) else path
        for found in lint(str(shown), prose(path)):
            count += 1
            line, column = found.pos
            result = found.check_result
            print(f"{shown}:{line}:{column}: {result.message} [{result.check_path}]")
    if count:
        sys.exit(f"{count} sentences to write in plain English: see docs/style.md.")


if __name__ == "__main__":
    main()
