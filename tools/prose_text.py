"""The prose of a file, with everything else blanked: code, generated tables, addresses of links.

Blanking keeps every line and column, so that a linter names the right place. Pieces of prose that
do not belong to one sentence, such as two cells of a table, are separated by `GAP`.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from pathlib import Path
from typing import TypeGuard

from tools.prose_rules import GAP

_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
_GENERATED = re.compile(r"<!-- results: .*?<!-- end -->", re.DOTALL)
_OFF = re.compile(r"<!-- prose: off -->.*?<!-- prose: on -->", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# A title in bold at the beginning of a paragraph is no sentence.
_TITLE = re.compile(r"^[ \t]*(?:[-*+] |\d+\. )?\*\*[^*\n]+(?:[.:]\*\*|\*\*[.:]?)", re.MULTILINE)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?: {4}.*\n| *\n)*(?: {4}.*(?:\n|\Z))")
_REFERENCE = re.compile(r"^::: .*\n(?: {4}.*\n?)*", re.MULTILINE)
_LINK = re.compile(r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)")
_ADDRESS = re.compile(r"<?https?://[^\s>)]+>?|</?[a-z]+[^<>\n]*>")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_MARKS = re.compile(r"[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}|[\[\]!]")
_BREAK = re.compile(r"^[ \t]*(?:\||#+ |[-*+] |\d+\. |> |={3,}|-{3,})|\|", re.MULTILINE)
_DIRECTIVE = re.compile(r"# ?(?:noqa|fmt|type|pyright|!|ruff)")
# The parts of a docstring: "Args:", and a name with its description.
_PART = re.compile(r"^[ \t]*(?:\w+:$|\*{0,2}\w+(?: \([^)]*\))?: )", re.MULTILINE)


def prose(path: Path) -> str:
    """Return the prose of a file: Markdown, a notebook, or Python's docstrings and comments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return of_python(text)
    if path.suffix == ".ipynb":
        return of_notebook(text)
    return of_markdown(text)


def of_markdown(text: str) -> str:
    """Blank all of a page but its prose."""
    for unwanted in (_GENERATED, _OFF, _FENCE, _REFERENCE, _COMMENT, _INDENTED):
        text = unwanted.sub(_blanked, text)
    text = _TITLE.sub(lambda found: found[0].rstrip("*.:").ljust(len(found[0]), GAP), text)
    return _of_marked(text)


def of_notebook(text: str) -> str:
    """Return the prose of a notebook's text cells, one after the other."""
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
    return f"\n{GAP}\n".join(of_markdown("".join(cell["source"])) for cell in cells)


def of_python(text: str) -> str:
    """Blank all of a program but its docstrings and comments."""
    kept = text.splitlines(keepends=True)
    lines = [_blank(line) for line in kept]
    for node in ast.walk(ast.parse(text)):
        if _stands_alone(node):
            first, last = node.lineno - 1, node.end_lineno
            lines[first:last] = _without_code(kept[first:last], node.col_offset)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not _DIRECTIVE.match(token.string):
            number, column = token.start[0] - 1, token.start[1]
            # A comment after code does not continue the sentence above it.
            mark = GAP if kept[number][:column].strip() else " "
            lines[number] = lines[number][:column] + mark + token.string[1:] + "\n"
    return _of_marked("".join(lines))


def _stands_alone(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether a string is a statement, as docstrings are."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _without_code(lines: list[str], indent: int) -> list[str]:
    """Blank the quotes and the code of a docstring, and separate its parts, such as "Args:"."""
    text = re.sub(r'[rf]?"""', lambda found: _gap(found[0]), "".join(lines))
    text = re.sub(rf"(?<=\n)[ \t]*\n(?: {{{indent + 4},}}\S.*\n|[ \t]*\n)+", _blanked, text)
    return _PART.sub(lambda found: _gap(found[0]), text).splitlines(keepends=True)


def _of_marked(text: str) -> str:
    """Blank the marks inside prose; a piece of code counts as one word."""
    text = _CODE.sub(lambda found: re.sub(r"[^\n]", "x", found[0]), text)
    text = _LINK.sub(_blanked, text)
    text = _ADDRESS.sub(_blanked, text)
    text = _BREAK.sub(lambda found: _gap(found[0]), text)
    return _MARKS.sub(_blanked, text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _blanked(found: re.Match[str]) -> str:
    return _blank(found[0])


def _gap(text: str) -> str:
    return GAP + _blank(text)[1:]
