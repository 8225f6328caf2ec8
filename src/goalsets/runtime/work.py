"""Determine how much an exported policy computes, before anything is computed.

A file of a kilobyte can ask for terabytes: `Expand` repeats, `MatMul` multiplies. So we derive the
shape of every tensor for one observation, and from it the memory and the multiplications. A file
that needs more than any policy is refused. A file whose shapes depend on computed numbers is
refused, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.runtime.graph import Inputs, Operation, Shape, Value, WorkError, given
from goalsets.runtime.shapes import RULES, broadcast, count_products, part_of

MOST_NUMBERS = 1 << 26
"""Most numbers in one tensor, for one observation: a layer of 8,192 times 8,192."""
MOST_IN_ALL = 1 << 28
"""Most numbers in all computed tensors together."""
MOST_PRODUCTS = 1 << 33
"""Most multiplications for one observation: a few seconds on one core."""
_KNOWN = 4096
"""Integer tensors up to this size are computed, because they may become a shape."""


def known(numbers: NDArray[Any]) -> Value:
    """A tensor whose numbers are kept, if it may become a shape."""
    keep = numbers.dtype.kind in "iub" and numbers.size <= _KNOWN
    return Value(numbers.shape, numbers if keep else None)


def check_work(operations: Iterable[Operation], values: dict[str, Value]) -> None:
    """Raise an error if a graph asks for too much.

    Args:
        operations: The operations, in the order in which they are computed.
        values: The inputs, for one observation, and the constants. Results are added to it.
    """
    total = products = 0
    for number, operation in enumerate(operations):
        place = f"operation {number} ({operation.kind})"
        try:
            inputs = [_find(values, name) for name in operation.inputs]
            shapes = RULES.get(operation.kind, broadcast)(operation, inputs)
            largest = max((math.prod(shape) for shape in shapes), default=0)
            total += sum(math.prod(shape) for shape in shapes)
            products += count_products(operation, inputs, shapes)
            if min((n for shape in shapes for n in shape), default=0) < 0:
                raise WorkError("its result has a negative size")
            if largest > MOST_NUMBERS or total > MOST_IN_ALL or products > MOST_PRODUCTS:
                raise WorkError(
                    f"for one observation it makes {largest:,} numbers, all operations up to it "
                    f"{total:,} with {products:,} multiplications; a policy may make "
                    f"{MOST_NUMBERS:,} and {MOST_IN_ALL:,} with {MOST_PRODUCTS:,}"
                )
            found = _compute(operation, inputs, shapes)
        except WorkError as error:
            raise WorkError(f"{place}: {error}.") from None
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
            raise WorkError(f"{place}: its inputs do not fit ({error}).") from None
        values.update(zip(operation.outputs, found, strict=False))


def _find(values: Mapping[str, Value], name: str) -> Value | None:
    """The value of a name; an empty name means that an input is left out."""
    if name and name not in values:
        raise WorkError(f"{name!r} is used before it is made")
    return values[name] if name else None


# --- Whole numbers that may become a shape ------------------------------------------------------

_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum,
    "Div": np.floor_divide, "Mod": np.mod, "Neg": np.negative, "Abs": np.abs, "Equal": np.equal,
    "Less": np.less, "Greater": np.greater, "Where": np.where, "Not": np.logical_not,
    "Identity": np.copy, "Cast": np.copy,
}  # fmt: skip


def _compute(operation: Operation, inputs: Inputs, shapes: Sequence[Shape]) -> list[Value]:
    """The results, with their numbers if these are known."""
    plain = [Value(shape) for shape in shapes]
    if operation.kind == "Shape":
        return [known(np.array(part_of(operation, given(inputs[0]).shape), np.int64))]
    if plain[0].size > _KNOWN or any(v is not None and v.numbers is None for v in inputs):
        return plain
    numbers = [value.numbers for value in inputs if value is not None and value.numbers is not None]
    found = _numbers_of(operation, numbers, shapes[0])
    return plain if found is None else [known(np.asarray(found))]


def _numbers_of(
    operation: Operation, numbers: list[NDArray[Any]], shape: Shape
) -> NDArray[Any] | None:
    """The result of known integers; None for operations that do not make shapes."""
    kind, told, first = operation.kind, operation.attributes, numbers[0]
    found: NDArray[Any] | None = None
    if kind in _ARITHMETIC:
        found = _ARITHMETIC[kind](*numbers)
    elif kind == "Concat":
        found = np.concatenate(numbers, told["axis"])
    elif kind == "Gather":
        found = np.take(first, numbers[1], told.get("axis", 0))
    elif kind in ("Squeeze", "Unsqueeze", "Reshape"):
        found = first.reshape(shape)
    elif kind == "Expand":
        found = np.broadcast_to(first, shape)
    elif kind == "Slice" and first.ndim == 1:
        start, stop = (int(n[0]) for n in numbers[1:3])
        found = first[start : stop : int(numbers[4][0]) if len(numbers) > 4 else 1]
    return found
