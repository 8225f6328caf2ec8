"""Nested dictionaries of arrays as one flat vector, in a declared order.

Keys are joined by dots: `{"arm": {"pos": …}}` has the key `arm.pos`. The keys of a tuple are its
positions. The vector has the declared order; without one, it has the order of the sorted keys, so
that it does not depend on how a program built its dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from goalsets.core.errors import GoalsetsError, suggest

Shape = tuple[int, ...]


@dataclass(frozen=True)
class FieldSpec:
    """A range of the flat observation vector, and its name in the log."""

    name: str
    """The dotted key; empty where the log holds a single vector without a name."""
    size: int
    """The number of its coordinates."""
    names: tuple[str, ...] = ()
    """A name for each coordinate, if the format has names."""

    def __post_init__(self) -> None:
        """Check the names against the size."""
        if self.size < 1:
            raise GoalsetsError(f"field {self.name!r} has no coordinates.")
        if self.names and len(self.names) != self.size:
            raise GoalsetsError(
                f"field {self.name!r} has {self.size} coordinates, got {len(self.names)} names."
            )


def total_size(fields: Sequence[FieldSpec]) -> int:
    """The length of the flat vector."""
    return sum(field.size for field in fields)


def leaves(tree: object) -> dict[str, Any]:
    """The arrays of a nested dictionary by their dotted keys; a lone array has the key ''."""
    found: dict[str, Any] = {}
    for key, leaf in _walk(tree, ""):
        if key in found:
            raise GoalsetsError(f"two entries of the observation have the dotted key {key!r}.")
        found[key] = leaf
    return found


def vector_shape(shape: Shape, dtype: DTypeLike) -> Shape | None:
    """The shape of one observation's entry; None if it does not hold numbers, such as text."""
    kind = np.dtype(dtype).kind
    return shape if kind in "biuf" else None


def choose_fields(
    shapes: Mapping[str, Shape | None], order: Sequence[str] = ()
) -> tuple[tuple[FieldSpec, ...], tuple[str, ...]]:
    """Decide what makes up the flat vector.

    Args:
        shapes: For each dotted key the shape of one observation's entry; None for an entry that
            does not hold numbers. A scalar has shape `()` and counts as one coordinate.
        order: The keys to take, in the order of the vector; empty for every vector, sorted.

    Returns:
        The fields, and the keys that were left out because they are not vectors.

    Raises:
        GoalsetsError: `order` has a key that does not exist, is not a vector or occurs twice; or
            there is no vector at all.
    """
    for position, key in enumerate(order):
        if key not in shapes:
            raise GoalsetsError(f"unknown observation key {key!r}: {suggest(key, sorted(shapes))}")
        if key in order[:position]:
            raise GoalsetsError(f"the order names the observation key {key!r} twice.")
        if not _is_vector(shapes[key]):
            raise GoalsetsError(
                f"observation key {key!r} has shape {shapes[key]}: expected a vector of numbers "
                "(images and text cannot be part of a state)."
            )
    keys = list(order) or sorted(key for key, shape in shapes.items() if _is_vector(shape))
    if not keys:
        raise GoalsetsError(f"no observation key holds vectors of numbers: {_print(shapes)}.")
    fields = tuple(FieldSpec(key, _size(shapes[key])) for key in keys)
    left_out = tuple(sorted(key for key, shape in shapes.items() if not _is_vector(shape)))
    return fields, left_out


def flatten(tree: object, fields: Sequence[FieldSpec], leading: int = 1) -> NDArray[np.float32]:
    """Join the entries of a nested dictionary into flat vectors.

    Args:
        tree: Arrays `[*leading, n]`, or `[*leading]` for scalars; further keys are ignored.
        fields: What to take, in order.
        leading: How many axes come before the coordinates: 0 for one observation, 1 for a
            trajectory.

    Returns:
        `float32[*leading, D]`.

    Raises:
        GoalsetsError: A key is absent or its shape is not what the field says.
    """
    if not fields:
        raise GoalsetsError("there are no fields to flatten.")
    arrays = leaves(tree)
    parts = [_entry(arrays, field, leading) for field in fields]
    front = parts[0].shape[:-1]
    flat = np.empty((*front, total_size(fields)), dtype=np.float32)
    start = 0
    for field, values in zip(fields, parts, strict=True):
        if values.shape[:-1] != front:
            raise GoalsetsError(
                f"{field.name!r} has {len(values)} rows, but {fields[0].name!r} has {len(flat)}."
            )
        flat[..., start : start + field.size] = values
        start += field.size
    return flat


def unflatten(flat: NDArray[Any], fields: Sequence[FieldSpec]) -> dict[str, Any]:
    """Take flat vectors `[..., D]` apart into nested dictionaries of arrays `[..., n]`."""
    if flat.shape[-1] != total_size(fields):
        raise GoalsetsError(
            f"the fields have {total_size(fields)} coordinates together, got {flat.shape[-1]}."
        )
    tree: dict[str, Any] = {}
    start = 0
    for field in fields:
        *path, last = field.name.split(".")
        node = tree
        for key in path:
            node = node.setdefault(key, {})
        node[last] = flat[..., start : start + field.size]
        start += field.size
    return tree


def _walk(tree: object, prefix: str) -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping):
        nodes = cast("Mapping[object, object]", tree)
        entries = [(str(key), value) for key, value in nodes.items()]
    elif isinstance(tree, tuple):
        entries = [(str(at), value) for at, value in enumerate(cast("tuple[object, ...]", tree))]
    else:
        yield prefix, tree
        return
    for key, value in entries:
        yield from _walk(value, f"{prefix}.{key}" if prefix else key)


def _entry(arrays: Mapping[str, Any], field: FieldSpec, leading: int) -> NDArray[Any]:
    """Look up a field's values as `[*leading, size]`."""
    if field.name not in arrays:
        raise GoalsetsError(
            f"the observation has no {field.name!r}: {suggest(field.name, sorted(arrays))}"
        )
    values: NDArray[Any] = np.asarray(arrays[field.name])
    shape = values.shape[leading:]
    if values.ndim < leading or shape not in ((), (field.size,)) or _size(shape) != field.size:
        raise GoalsetsError(f"{field.name!r} needs {field.size} coordinates, got shape {shape}.")
    return np.reshape(values, (*values.shape[:leading], field.size))


def _is_vector(shape: Shape | None) -> bool:
    return shape is not None and len(shape) <= 1 and _size(shape) > 0


def _size(shape: Shape | None) -> int:
    return 1 if not shape else shape[0]


def _print(shapes: Mapping[str, Shape | None]) -> str:
    if not shapes:
        return "there are none"
    return ", ".join(f"{key!r} has shape {shape}" for key, shape in sorted(shapes.items()))
