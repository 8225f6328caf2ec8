"""The query language as text: tokens and a small syntax tree, without their meaning.

    query     := part (("&" | "-") part)*          read from the left
    part      := atom [":" tolerance]
    atom      := name | "[" indices "]" | "(" query ")"
    indices   := index ("," index)*
    index     := integer | [integer] ":" [integer]   a half-open span, as in Python
    tolerance := number [unit]

`goalsets.core.query` gives the tree its meaning under a layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from goalsets.core.errors import QueryError

NAME_PATTERN = r"[A-Za-z_][A-Za-z0-9_./]*"
_NAME = re.compile(NAME_PATTERN)
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf)\b")
_UNIT = re.compile(r"[A-Za-z/]+")
_SPACE = re.compile(r"\s*")

# Queries also come from the network, so limits keep a text from exhausting the stack.
MAX_LENGTH = 10_000
MAX_DEPTH = 50
MAX_PARTS = 256
MAX_DIGITS = 9


@dataclass(frozen=True)
class Name:
    """A group, an alias, or one of the words `all` and `task`."""

    name: str


@dataclass(frozen=True)
class Span:
    """One index (`stop` is None and `single`), or a half-open span with optional ends."""

    start: int | None
    stop: int | None
    single: bool


@dataclass(frozen=True)
class Indices:
    """Coordinates named by number."""

    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Toleranced:
    """A part with a tolerance: a value and a unit, which is empty for observation units."""

    part: Node
    value: float
    unit: str


@dataclass(frozen=True)
class Join:
    """Both requirements must hold."""

    left: Node
    right: Node


@dataclass(frozen=True)
class Remove:
    """The left requirement without the coordinates on the right."""

    left: Node
    right: Node


Node = Name | Indices | Toleranced | Join | Remove


def parse(text: str) -> Node:
    """Parse a query into its syntax tree.

    Raises:
        QueryError: The text does not follow the grammar; the message shows where.
    """
    if len(text) > MAX_LENGTH:
        raise QueryError(f"a query may have {MAX_LENGTH} characters at most, got {len(text)}.")
    return _Parser(text).parse()


def parse_tolerance(text: str) -> tuple[float, str]:
    """Parse a tolerance such as "0.4" or "20deg" into its number and its unit."""
    parser = _Parser(text)
    tolerance = parser.tolerance()
    parser.finish("the end of the tolerance")
    return tolerance


def names(node: Node) -> Iterator[str]:
    """Yield every name that stands in a syntax tree."""
    if isinstance(node, Name):
        yield node.name
    elif isinstance(node, Toleranced):
        yield from names(node.part)
    elif isinstance(node, (Join, Remove)):
        yield from names(node.left)
        yield from names(node.right)


class _Parser:
    """Recursive descent with one position, so that every error can point at its place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.parts = 0

    def parse(self) -> Node:
        node = self._query()
        self.finish("'&', '-' or the end of the query")
        return node

    def finish(self, expected: str) -> None:
        if self.at < len(self.text):
            raise self._error(expected)

    def tolerance(self) -> tuple[float, str]:
        number = self._match(_NUMBER)
        if number is None:
            raise self._error("a tolerance such as 0.4 or 20deg")
        return float(number), self._match(_UNIT) or ""

    def _query(self) -> Node:
        node = self._part()
        while True:
            if self._take("&"):
                node = Join(node, self._part())
            elif self._take("-"):
                node = Remove(node, self._part())
            else:
                return node

    def _part(self) -> Node:
        # The tree of a chain is as deep as the chain is long, so the number of parts is limited.
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise self._error(f"at most {MAX_PARTS} parts")
        atom = self._atom()
        if not self._take(":"):
            return atom
        return Toleranced(atom, *self.tolerance())

    def _atom(self) -> Node:
        name = self._match(_NAME)
        if name is not None:
            return Name(name)
        if self._take("["):
            return self._indices()
        if self._take("("):
            return self._parenthesised()
        raise self._error("a group name, '[' or '('")

    def _parenthesised(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._error(f"at most {MAX_DEPTH} nested parentheses")
        node = self._query()
        if not self._take(")"):
            raise self._error("'&', '-' or ')'")
        self.depth -= 1
        return node

    def _indices(self) -> Indices:
        spans = [self._span()]
        while self._take(","):
            spans.append(self._span())
        if not self._take("]"):
            raise self._error("',', ':' or ']'")
        return Indices(tuple(spans))

    def _span(self) -> Span:
        start = self._integer()
        if self._take(":"):
            return Span(start, self._integer(), single=False)
        if start is None:
            raise self._error("a coordinate such as 19 or a span such as 19:22")
        return Span(start, None, single=True)

    def _integer(self) -> int | None:
        text = self._match(_INTEGER)
        if text is not None and len(text) > MAX_DIGITS:
            raise self._error(f"a coordinate of at most {MAX_DIGITS} digits before it")
        return None if text is None else int(text)

    def _skip_space(self) -> None:
        space = _SPACE.match(self.text, self.at)
        if space is not None:
            self.at = space.end()

    def _take(self, symbol: str) -> bool:
        self._skip_space()
        found = self.text.startswith(symbol, self.at)
        if found:
            self.at += len(symbol)
            self._skip_space()
        return found

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        self._skip_space()
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        self._skip_space()
        return found.group()

    def _error(self, expected: str) -> QueryError:
        found = repr(self.text[self.at]) if self.at < len(self.text) else "the end"
        shown = " ".join(self.text.split("\n"))
        pointer = " " * self.at + "^"
        return QueryError(
            f"cannot read the query at column {self.at + 1}: expected {expected}, found {found}.\n"
            f"  {shown}\n  {pointer}"
        )
