"""Layouts as plain data and as YAML or JSON files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from goalsets.core import door
from goalsets.core.errors import GoalsetsError, LayoutError, suggest
from goalsets.core.group import Group
from goalsets.core.layout import MOST_COORDINATES, StateLayout

_LAYOUT_KEYS = ("name", "aliases", "task")
_GROUP_KEYS = ("metric", "unit", "scale", "tolerance", "description", "kind", "relative_to")


def read_layout(path: str | Path) -> StateLayout:
    """Read a layout from a `.yaml`, `.yml` or `.json` file."""
    path = Path(path)
    read = door.read_json if path.suffix == ".json" else door.read_yaml
    plain = read(path, what="the layout", kind=LayoutError, once=True)
    if not isinstance(plain, Mapping):
        raise LayoutError(f"{path}: expected a mapping with 'dim' and 'groups'.")
    try:
        return layout_from_dict(cast("Mapping[str, Any]", plain))
    except GoalsetsError as error:
        raise LayoutError(f"{path}: {error}") from None


def write_layout(layout: StateLayout, path: str | Path) -> None:
    """Write a layout to a `.yaml`, `.yml` or `.json` file."""
    path = Path(path)
    if path.suffix == ".json":
        text = json.dumps(layout_to_dict(layout), indent=2) + "\n"
    else:
        import yaml

        text = yaml.safe_dump(layout_to_dict(layout), sort_keys=False, default_flow_style=None)
    path.write_text(text, encoding="utf-8")


def layout_to_dict(layout: StateLayout) -> dict[str, Any]:
    """Return plain data that `layout_from_dict` turns back into an equal layout."""
    plain: dict[str, Any] = {"name": layout.name, "dim": layout.dim}
    plain["groups"] = {group.name: _group_to_dict(group) for group in layout.groups}
    if layout.aliases:
        plain["aliases"] = dict(layout.aliases)
    if layout.task is not None:
        plain["task"] = layout.task
    return plain


def layout_from_dict(plain: Mapping[str, Any]) -> StateLayout:
    """Build a layout from plain data, as a YAML or JSON file holds it."""
    _check_keys("a layout", plain, required=("dim", "groups"), optional=_LAYOUT_KEYS)
    groups = _mapping("'groups'", plain["groups"])
    aliases = _mapping("'aliases'", plain.get("aliases") or {})
    task = plain.get("task")
    return StateLayout(
        dim=_integer("'dim'", plain["dim"]),
        groups=[_group_from_dict(name, entry) for name, entry in groups.items()],
        aliases={name: str(text) for name, text in aliases.items()},
        task=None if task is None else str(task),
        name=str(plain.get("name", "")),
    )


def _group_to_dict(group: Group) -> dict[str, Any]:
    plain: dict[str, Any] = {"indices": list(group.indices), "metric": group.metric}
    defaults = Group(group.name, group.indices, group.metric)
    for key in _GROUP_KEYS[1:]:
        if getattr(group, key) != getattr(defaults, key):
            plain[key] = getattr(group, key)
    return plain


def _group_from_dict(name: str, entry: object) -> Group:
    """Build a group; `indices` may be a list, one number or a span such as "19:22"."""
    plain = _mapping(f"group {name!r}", entry)
    _check_keys(f"group {name!r}", plain, required=("indices",), optional=_GROUP_KEYS)
    group = Group(
        name,
        _indices(name, plain["indices"]),
        metric=plain.get("metric", "euclidean"),
        unit=str(plain.get("unit", "")),
        scale=_number(f"group {name!r}: 'scale'", plain.get("scale", 1.0)),
        description=str(plain.get("description", "")),
        kind=str(plain.get("kind", "")),
        relative_to=str(plain.get("relative_to", "")),
    )
    tolerance = plain.get("tolerance")
    if tolerance is None:
        return group
    if not isinstance(tolerance, str):
        tolerance = _number(f"group {name!r}: 'tolerance'", tolerance)
    return group.with_tolerance(tolerance)


def _check_keys(
    what: str, plain: Mapping[str, Any], required: Iterable[str], optional: Iterable[str]
) -> None:
    known = (*required, *optional)
    for key in required:
        if key not in plain:
            raise LayoutError(f"{what} needs {key!r}; got only {', '.join(map(repr, plain))}.")
    for key in plain:
        if key not in known:
            raise LayoutError(f"{what} has an unknown entry {key!r}: {suggest(key, known)}")


def _mapping(what: str, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise LayoutError(f"{what} must be a mapping, got {value!r}.")
    return {str(key): entry for key, entry in cast("Mapping[object, Any]", value).items()}


def _integer(what: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise LayoutError(f"{what} must be a whole number, got {value!r}.")
    return value


def _number(what: str, value: object) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise LayoutError(f"{what} must be a number, got {value!r}.")
    try:
        return float(value)
    except OverflowError:  # a whole number with hundreds of digits
        raise LayoutError(f"{what} is too large a number.") from None


def _indices(name: str, value: object) -> Sequence[int]:
    what = f"group {name!r}: an index"
    if isinstance(value, str):
        start, _, stop = value.partition(":")
        if not (start.strip().isdecimal() and stop.strip().isdecimal()):
            raise LayoutError(f"group {name!r}: expected a span such as '19:22', got {value!r}.")
        # The text may have any length: do not convert thousands of digits.
        if len(stop.strip()) > 9 or int(stop) > MOST_COORDINATES:
            raise LayoutError(
                f"group {name!r}: a span may reach to {MOST_COORDINATES:,}, got {value[:40]!r}."
            )
        return range(int(start), int(stop))
    if isinstance(value, Sequence):
        return [_integer(what, entry) for entry in cast("Sequence[object]", value)]
    return [_integer(what, value)]
