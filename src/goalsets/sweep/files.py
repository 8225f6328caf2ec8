"""Sweeps as YAML files: those that come with goalsets, and users' own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import yaml

from goalsets.core import GoalsetsError, door
from goalsets.core.door.text import YAML_BYTES
from goalsets.core.errors import FileError, suggest
from goalsets.sweep.grid import DataChoice, Evaluation, SuiteChoice, Sweep, SweepError
from goalsets.train.session import Pace

if TYPE_CHECKING:
    from importlib.abc import Traversable

_SECTIONS = {"evaluation": Evaluation, "pace": Pace, "data": DataChoice}
_AXES = {"tasks": str, "learners": str, "schemes": str, "seeds": int}
_KEYS = tuple(field.name for field in dataclasses.fields(Sweep))

T = TypeVar("T")


def read_sweep(name_or_file: str | Path) -> Sweep:
    """Read a sweep: one that goalsets ships, by its name, or a YAML file."""
    known = _shipped()
    path, name = Path(name_or_file), str(name_or_file)
    if name in known and not path.is_file():
        return _read_shipped(known[name], name)
    try:
        text = door.read_text(path, limit=YAML_BYTES)
    except FileError as error:
        raise SweepError(
            f"there is no sweep {name!r}: {suggest(name, known)} Or name a YAML file: {error}"
        ) from None
    return parse_sweep(text, str(path), path.stem, path.parent)


def shipped_sweeps() -> dict[str, Sweep]:
    """All sweeps that goalsets ships, by name."""
    return {name: _read_shipped(file, name) for name, file in _shipped().items()}


def _shipped() -> dict[str, Traversable]:
    files = resources.files("goalsets.sweep.shipped").iterdir()
    found = {f.name.removesuffix(".yaml"): f for f in files if f.name.endswith(".yaml")}
    return dict(sorted(found.items()))


def _read_shipped(file: Traversable, name: str) -> Sweep:
    return parse_sweep(file.read_text(encoding="utf-8"), file.name, name)


def parse_sweep(text: str, place: str, name: str, base: Path | None = None) -> Sweep:
    """Read a sweep from YAML.

    Args:
        text: The YAML.
        place: The file's name, for errors.
        name: The sweep's name, unless the YAML has one.
        base: The directory to which paths of suites are relative.
    """
    plain = door.parse_yaml(text, place, kind=SweepError)
    try:
        return _from_plain(plain, name, base or Path())
    except GoalsetsError as error:
        raise SweepError(f"{place}: {error}") from None


def write_sweep(sweep: Sweep, path: Path) -> None:
    """Write a sweep so that `read_sweep` returns an equal one."""
    # Convert to JSON's types first: YAML would write tuples as Python objects.
    plain = _plain(dataclasses.asdict(sweep))
    temporary = path.with_suffix(".tmp")
    temporary.write_text(yaml.safe_dump(plain, sort_keys=False), encoding="utf-8")
    temporary.replace(path)


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a sweep holds
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def _from_plain(plain: Any, name: str, base: Path) -> Sweep:  # noqa: ANN401 - whatever it holds
    if not isinstance(plain, Mapping) or "tasks" not in plain:
        raise SweepError("expected a mapping with 'tasks', and with other axes such as 'learners'.")
    _check_keys(plain, _KEYS, "the sweep")
    fields: dict[str, Any] = {"name": str(plain.get("name", name))}
    for axis, kind in _AXES.items():
        if axis in plain:
            fields[axis] = _axis(plain[axis], axis, kind)
    for section, kind in _SECTIONS.items():
        if section in plain:
            fields[section] = _section(plain[section], section, kind)
    for key in ("preset", "description"):
        if key in plain:
            fields[key] = str(plain[key])
    if "overrides" in plain:
        fields["overrides"] = _overrides(plain["overrides"])
    fields["suites"] = tuple(_suite(entry, base) for entry in _listed(plain.get("suites", ())))
    return Sweep(**fields)


def _axis(value: Any, axis: str, kind: type) -> tuple[Any, ...]:  # noqa: ANN401 - as above
    values = _listed(value)
    for entry in values:
        if not isinstance(entry, kind) or isinstance(entry, bool):
            wanted = "whole numbers" if kind is int else "names"
            raise SweepError(f"{axis!r} needs {wanted}, got {entry!r}.")
        if kind is int and not 0 <= entry < 1 << 63:
            raise SweepError(f"{axis!r} must be 0 or more, got {entry}.")
    return tuple(values)


def _overrides(value: Any) -> tuple[Mapping[str, Any], ...]:  # noqa: ANN401 - as above
    points = [{}] if value is None else _listed(value)
    for point in points:
        if not isinstance(point, Mapping):
            raise SweepError(f"'overrides' needs mappings such as {{steps: 500}}, got {point!r}.")
        if not all(isinstance(key, str) for key in point):
            raise SweepError(f"'overrides' needs names of fields, got {list(point)!r}.")
        if not isinstance(point.get("settings", {}), Mapping):
            raise SweepError(f"'settings' needs a mapping, got {point['settings']!r}.")
    return tuple(dict(point) for point in points)


def _suite(value: Any, base: Path) -> SuiteChoice:  # noqa: ANN401 - as above
    if isinstance(value, str):
        chosen = SuiteChoice(value)
    else:
        plain = dict(value) if isinstance(value, Mapping) else value
        schemes = plain.pop("schemes", ()) if isinstance(plain, dict) else ()
        chosen = _section(plain, "suites", SuiteChoice)
        chosen = dataclasses.replace(chosen, schemes=_axis(schemes, "schemes of suites", str))
    if chosen.description == "shipped":
        return chosen
    try:
        path = (base / chosen.description).resolve()
        known = path.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # a name that no file can have
        raise SweepError(f"'suites' names {chosen.description!r}: {error}.") from None
    if not known:
        raise SweepError(
            f"'suites' names {str(path)!r}, which is not a file. Name a YAML file, or 'shipped'."
        )
    return dataclasses.replace(chosen, description=str(path))


def _section(value: Any, name: str, kind: type[T]) -> T:  # noqa: ANN401 - as above
    if not isinstance(value, Mapping):
        raise SweepError(f"{name!r} needs a mapping, got {value!r}.")
    types = get_type_hints(kind)
    _check_keys(value, tuple(types), repr(name))
    for key, entry in value.items():
        _check_type(entry, types[key], f"{key!r} of {name!r}")
    return kind(**value)


def _check_type(value: Any, wanted: Any, what: str) -> None:  # noqa: ANN401 - as above
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            raise SweepError(f"{what} needs {' or '.join(get_args(wanted))}, got {value!r}.")
        return
    if wanted is bool:
        if not isinstance(value, bool):
            raise SweepError(f"{what} needs true or false, got {value!r}.")
        return
    kinds = get_args(wanted) or (wanted,)
    if isinstance(value, bool) or not isinstance(value, kinds):
        word = "a name" if str in kinds else "a whole number"
        raise SweepError(f"{what} needs {word}, got {value!r}.")
    if isinstance(value, int) and not 0 <= value < 1 << 40:
        raise SweepError(f"{what} must be 0 or more, got {value}.")


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 - as above
    """The value as a list; a single entry becomes a list of one."""
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _check_keys(plain: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in plain:
        if key not in known:
            raise SweepError(f"{what} has an unknown key {key!r}: {suggest(str(key), known)}")
