"""JSON, YAML and CSV: limited in size and depth; on request, a repeated name is an error."""

from __future__ import annotations

import csv
import functools
import json
import re
from pathlib import Path
from typing import Any

from goalsets.core.door.files import LOG_BYTES, TEXT_BYTES, decode, read_bytes, read_text
from goalsets.core.errors import FileError, GoalsetsError

DEPTH = 64
"""How deep lists and mappings may be nested. Our own files need fewer than ten levels."""
YAML_BYTES = 256 << 10
"""The largest YAML file that is read. People write them, and half a megabyte takes a second."""
YAML_NODES = 20_000
"""The most values in a YAML file. An alias counts as all the values that it stands for."""

_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACKETS = re.compile(r"[\[{]+|[\]}]+")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_SQUARE = bytes.maketrans(b"{}", b"[]")

# PyYAML raises these for values that do not fit their tag, such as the date 2024-13-01.
_UNFIT = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


def read_json(
    path: str | Path,
    *,
    what: str = "",
    limit: int = TEXT_BYTES,
    kind: type[GoalsetsError] = FileError,
    once: bool = False,
) -> Any:  # noqa: ANN401 - whatever the file holds
    """The content of a JSON file: see `parse_json`."""
    return parse_json(
        read_text(path, what=what, limit=limit, kind=kind), str(path), kind=kind, once=once
    )


def parse_json(
    text: str | bytes,
    place: str,
    *,
    kind: type[GoalsetsError] = FileError,
    once: bool = False,
) -> Any:  # noqa: ANN401 - as above
    """Parse JSON.

    Args:
        text: The JSON.
        place: Where it stands, for messages.
        kind: The error to raise.
        once: Refuse a mapping that has a name twice. By JSON's own rule the last one wins.
    """
    if isinstance(text, bytes):
        text = decode(text, place, kind)
    _check_depth(text, place, kind)
    hook = functools.partial(_once, place=place, kind=kind) if once else None
    try:
        return json.loads(text, object_pairs_hook=hook)
    except GoalsetsError:
        raise
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise kind(f"{place} is not JSON: {error}.") from None


def read_json_lines(
    path: str | Path, *, what: str = "", kind: type[GoalsetsError] = FileError
) -> list[Any]:
    """The value on each line of a file; None where a line is not JSON or not UTF-8."""
    data = read_bytes(path, what=what, limit=LOG_BYTES, kind=kind)
    found: list[Any] = []
    for line in data.splitlines():
        try:
            if len(line) > TEXT_BYTES:
                raise FileError("a line is too long")
            found.append(parse_json(line, str(path)))
        except FileError:
            found.append(None)
    return found


def read_yaml(
    path: str | Path,
    *,
    what: str = "",
    kind: type[GoalsetsError] = FileError,
    once: bool = False,
) -> Any:  # noqa: ANN401 - as above
    """The content of a YAML file: see `parse_yaml`."""
    text = read_text(path, what=what, limit=YAML_BYTES, kind=kind)
    return parse_yaml(text, str(path), kind=kind, once=once)


def parse_yaml(
    text: str,
    place: str,
    *,
    kind: type[GoalsetsError] = FileError,
    once: bool = False,
) -> Any:  # noqa: ANN401 - as above
    """Parse YAML with plain values only.

    An alias repeats an earlier value. It counts as often as it is used, so that a few lines cannot
    stand for a billion values. An alias may not contain itself.

    Args:
        text: The YAML.
        place: Where it stands, for messages.
        kind: The error to raise.
        once: Refuse a mapping that has a name twice. By YAML's own rule the last one wins.
    """
    import yaml  # exported policies run without this library

    library: Any = yaml  # the library's types are incomplete
    loader: Any = None
    try:
        _check_events(library.parse(text, Loader=library.SafeLoader), place, kind)
        loader = library.SafeLoader(text)
        node = loader.get_single_node()
        _Counter(place, kind, once).count(node)
        return None if node is None else loader.construct_document(node)
    except GoalsetsError:
        raise
    except yaml.YAMLError as error:
        raise kind(f"{place} is not YAML: {error}.") from None
    except _UNFIT as error:
        raise kind(f"{place} is not YAML: a value cannot be read ({error}).") from None
    finally:
        if loader is not None:
            loader.dispose()


def read_csv(
    path: str | Path,
    *,
    what: str = "",
    limit: int = LOG_BYTES,
    kind: type[GoalsetsError] = FileError,
) -> list[list[str]]:
    """The rows of a CSV file."""
    text = read_text(path, what=what, limit=limit, kind=kind)
    try:
        return list(csv.reader(text.splitlines(keepends=True), strict=True))
    except csv.Error as error:
        raise kind(f"{path} is not CSV: {error}.") from None


def _check_depth(text: str, place: str, kind: type[GoalsetsError]) -> None:
    """Refuse deep JSON before it is parsed."""
    if text.count("[") + text.count("{") <= DEPTH or _is_flat(text.encode(errors="replace")):
        return
    depth = 0
    for found in _BRACKETS.finditer(_STRINGS.sub("", text)):
        depth += len(found[0]) if found[0][0] in "[{" else -len(found[0])
        if depth > DEPTH:
            raise kind(f"{place} is nested more than {DEPTH} deep.")


def _is_flat(text: bytes) -> bool:
    """Whether JSON is certainly not deep: a quick test that long headers and suites pass."""
    plain = text.replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = b"".join(plain.split(b'"')[::2]).translate(_SQUARE, _NO_BRACKETS)
    for _ in range(DEPTH):
        size = len(brackets)
        brackets = brackets.replace(b"[]", b"")  # the innermost ones
        if len(brackets) == size:
            break
    return not brackets


def _once(pairs: list[tuple[str, Any]], place: str, kind: type[GoalsetsError]) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, value in pairs:
        if key in plain:
            raise kind(f"{place} names {key!r} twice.")
        plain[key] = value
    return plain


def _check_events(events: Any, place: str, kind: type[GoalsetsError]) -> None:  # noqa: ANN401
    """Refuse deep or very long YAML by its events, which are read without recursion."""
    depth = number = 0
    for event in events:
        name = type(event).__name__
        depth += name in ("SequenceStartEvent", "MappingStartEvent")
        depth -= name in ("SequenceEndEvent", "MappingEndEvent")
        number += name == "ScalarEvent"
        if depth > DEPTH:
            line = event.start_mark.line + 1
            raise kind(f"{place}, line {line}: it is nested more than {DEPTH} deep.")
        if number > YAML_NODES:
            raise kind(f"{place} has more than {YAML_NODES:,} values.")


class _Counter:
    """Counts the values that a composed YAML document stands for."""

    def __init__(self, place: str, kind: type[GoalsetsError], once: bool) -> None:
        self._place, self._kind, self._once = place, kind, once
        self._known: dict[int, int] = {}
        self._open: set[int] = set()

    def count(self, node: Any) -> int:  # noqa: ANN401 - a node of PyYAML, which has no types
        if node is None or node.id == "scalar":
            return 1
        key, line = id(node), node.start_mark.line + 1
        if key in self._open:
            raise self._kind(f"{self._place}, line {line}: an alias contains itself.")
        if key not in self._known:
            self._open.add(key)
            self._known[key] = 1 + sum(self.count(child) for child in self._children(node))
            self._open.remove(key)
        if self._known[key] > YAML_NODES:
            raise self._kind(
                f"{self._place}, line {line}: its aliases mean more than {YAML_NODES:,} values."
            )
        return self._known[key]

    def _children(self, node: Any) -> list[Any]:  # noqa: ANN401 - as above
        if node.id == "sequence":
            return node.value
        if self._once:
            _once([(str(key.value), None) for key, _ in node.value], self._place, self._kind)
        return [part for pair in node.value for part in pair]
