"""The shape of the result of each kind of operation in an exported policy."""
# ruff: noqa: ARG001 - every rule is given the operation and its inputs

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from goalsets.runtime.graph import Inputs, Operation, Shape, Value, WorkError, given

Rule = Callable[[Operation, Inputs], "list[Shape]"]


def _numbers(value: Value | None) -> list[int]:
    """The numbers of a tensor that decides a shape."""
    if value is None or value.numbers is None:
        raise WorkError("the size of its result depends on computed numbers")
    return [int(n) for n in value.numbers.reshape(-1)]


def _axes(operation: Operation, inputs: Inputs, rank: int) -> list[int] | None:
    """Axes, from an attribute or a second input; None if there are none."""
    told = operation.attributes.get("axes")
    if told is None and len(inputs) > 1 and inputs[1] is not None:
        told = _numbers(inputs[1])
    return None if told is None else [_axis(axis, rank) for axis in told]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise WorkError(f"it has no axis {axis}")
    return axis % rank


# --- The shapes of results ----------------------------------------------------------------------


def broadcast(operation: Operation, inputs: Inputs) -> list[Shape]:
    """Element by element, as most operations work."""
    shapes = [value.shape for value in inputs if value is not None]
    return [_joined(shapes)] * max(1, len(operation.outputs))


def _joined(shapes: Sequence[Shape]) -> Shape:
    # NumPy's own rule, without its limit on the number of elements.
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    found: list[int] = []
    for sizes in zip(*padded, strict=True):
        others = set(sizes) - {1}
        if len(others) > 1:
            raise WorkError(f"shapes {', '.join(map(str, shapes))} do not fit")
        found.append(others.pop() if others else 1)
    return tuple(found)


def _same(operation: Operation, inputs: Inputs) -> list[Shape]:
    return [given(inputs[0]).shape] * max(1, len(operation.outputs))


def _matmul(operation: Operation, inputs: Inputs) -> list[Shape]:
    left, right = given(inputs[0]).shape, given(inputs[1]).shape
    a = left if len(left) > 1 else (1, *left)
    b = right if len(right) > 1 else (*right, 1)
    if not left or not right or a[-1] != b[-2]:
        raise WorkError(f"shapes {left} and {right} do not fit")
    front = _joined([a[:-2], b[:-2]])
    return [front + a[-2:-1] * (len(left) > 1) + b[-1:] * (len(right) > 1)]


def _gemm(operation: Operation, inputs: Inputs) -> list[Shape]:
    a, b = given(inputs[0]).shape, given(inputs[1]).shape
    if len(a) != 2 or len(b) != 2:
        raise WorkError(f"shapes {a} and {b} do not fit")
    a = a[::-1] if operation.attributes.get("transA") else a
    b = b[::-1] if operation.attributes.get("transB") else b
    if a[1] != b[0]:
        raise WorkError(f"shapes {a} and {b} do not fit")
    return [(a[0], b[1])]


def _reduce(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape = given(inputs[0]).shape
    if operation.kind in ("ArgMax", "ArgMin"):
        axes: Sequence[int] | None = [_axis(operation.attributes.get("axis", 0), len(shape))]
    else:
        axes = _axes(operation, inputs, len(shape))
    axes = axes or range(len(shape))
    keep = operation.attributes.get("keepdims", 1)
    if keep:
        return [tuple(1 if i in axes else n for i, n in enumerate(shape))]
    return [tuple(n for i, n in enumerate(shape) if i not in axes)]


def _concat(operation: Operation, inputs: Inputs) -> list[Shape]:
    shapes = [given(value).shape for value in inputs]
    axis = _axis(operation.attributes["axis"], len(shapes[0]))
    rest = {shape[:axis] + shape[axis + 1 :] for shape in shapes}
    if len(rest) != 1:
        raise WorkError(f"shapes {', '.join(map(str, shapes))} do not fit")
    whole = sum(shape[axis] for shape in shapes)
    return [(*shapes[0][:axis], whole, *shapes[0][axis + 1 :])]


def _reshape(operation: Operation, inputs: Inputs) -> list[Shape]:
    source, wanted = given(inputs[0]), _numbers(inputs[1])
    if not operation.attributes.get("allowzero"):
        wanted = [source.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
    if -1 in wanted:
        rest = -math.prod(wanted)
        wanted[wanted.index(-1)] = source.size // rest if rest else 0
    if math.prod(wanted) != source.size:
        raise WorkError(f"{source.size} numbers cannot have the shape {wanted}")
    return [tuple(wanted)]


def _expand(operation: Operation, inputs: Inputs) -> list[Shape]:
    return [_joined([given(inputs[0]).shape, tuple(_numbers(inputs[1]))])]


def _tile(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape, times = given(inputs[0]).shape, _numbers(inputs[1])
    return [tuple(n * t for n, t in zip(shape, times, strict=True))]


def _pad(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape, pads = given(inputs[0]).shape, _numbers(inputs[1])
    axes = list(range(len(shape)))
    if len(inputs) > 3 and inputs[3] is not None:
        axes = [_axis(axis, len(shape)) for axis in _numbers(inputs[3])]
    found = list(shape)
    for axis, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        found[axis] += before + after
    return [tuple(found)]


def _slice(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape = list(given(inputs[0]).shape)
    starts, stops = _numbers(inputs[1]), _numbers(inputs[2])
    told = [None if len(inputs) <= i or inputs[i] is None else _numbers(inputs[i]) for i in (3, 4)]
    axes, steps = told[0] or range(len(starts)), told[1] or [1] * len(starts)
    for axis, start, stop, step in zip(axes, starts, stops, steps, strict=True):
        place = _axis(axis, len(shape))
        shape[place] = len(range(*slice(start, stop, step).indices(shape[place])))
    return [tuple(shape)]


def _split(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape, count = given(inputs[0]).shape, len(operation.outputs)
    axis = _axis(operation.attributes.get("axis", 0), len(shape))
    if len(inputs) > 1 and inputs[1] is not None:
        sizes = _numbers(inputs[1])
    else:
        most = -(-shape[axis] // count)
        sizes = [min(most, max(0, shape[axis] - i * most)) for i in range(count)]
    if sum(sizes) != shape[axis] or len(sizes) != count:
        raise WorkError(f"{shape[axis]} cannot be split into {sizes[:8]}")
    return [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]


def _gather(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape, indices = given(inputs[0]).shape, given(inputs[1]).shape
    axis = _axis(operation.attributes.get("axis", 0), len(shape))
    return [shape[:axis] + indices + shape[axis + 1 :]]


def _gather_nd(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape, indices = given(inputs[0]).shape, given(inputs[1]).shape
    batch = operation.attributes.get("batch_dims", 0)
    return [indices[:-1] + shape[batch + indices[-1] :]]


def _second(operation: Operation, inputs: Inputs) -> list[Shape]:
    return [given(inputs[1]).shape]


def _transpose(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape = given(inputs[0]).shape
    order = operation.attributes.get("perm", range(len(shape))[::-1])
    if sorted(order) != list(range(len(shape))):
        raise WorkError(f"{list(order)} is no order of its axes")
    return [tuple(shape[i] for i in order)]


def _unsqueeze(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape = given(inputs[0]).shape
    told = operation.attributes.get("axes")
    added = _numbers(inputs[1]) if told is None else list(told)
    rank = len(shape) + len(added)
    places = {_axis(axis, rank) for axis in added}
    rest = iter(shape)
    return [tuple(1 if i in places else next(rest) for i in range(rank))]


def _squeeze(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape = given(inputs[0]).shape
    axes = _axes(operation, inputs, len(shape))
    if axes is None:
        return [tuple(n for n in shape if n != 1)]
    return [tuple(n for i, n in enumerate(shape) if i not in axes)]


def _shape(operation: Operation, inputs: Inputs) -> list[Shape]:
    return [(len(part_of(operation, given(inputs[0]).shape)),)]


def part_of(operation: Operation, shape: Shape) -> Shape:
    """The axes that an operation `Shape` returns."""
    told = operation.attributes
    return shape[told.get("start", 0) : told.get("end", len(shape))]


def _top(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape, (count,) = given(inputs[0]).shape, _numbers(inputs[1])
    axis = _axis(operation.attributes.get("axis", -1), len(shape))
    return [(*shape[:axis], count, *shape[axis + 1 :])] * 2


def _einsum(operation: Operation, inputs: Inputs) -> list[Shape]:
    sizes = _letters(operation, inputs)
    _, arrow, out = operation.attributes["equation"].replace(" ", "").partition("->")
    if not arrow:
        raise WorkError("its equation has no '->' and result")
    return [tuple(sizes[letter] for letter in out)]


def _letters(operation: Operation, inputs: Inputs) -> dict[str, int]:
    """The size of each index of an Einsum."""
    terms = operation.attributes["equation"].replace(" ", "").partition("->")[0].split(",")
    sizes: dict[str, int] = {}
    for term, value in zip(terms, inputs, strict=True):
        for letter, size in zip(term, given(value).shape, strict=True):
            if not letter.isalpha() or sizes.setdefault(letter, size) != size:
                raise WorkError(f"its equation {operation.attributes['equation']!r} does not fit")
    return sizes


def _conv(operation: Operation, inputs: Inputs) -> list[Shape]:
    shape, kernel = given(inputs[0]).shape, given(inputs[1]).shape
    axes, told = len(shape) - 2, operation.attributes
    strides, pads = told.get("strides", [1] * axes), told.get("pads", [0] * 2 * axes)
    apart = told.get("dilations", [1] * axes)
    if "auto_pad" in told or min([*strides, *apart], default=1) < 1:
        raise WorkError("it uses auto_pad, or a stride or dilation below 1")
    found = [
        (shape[2 + i] + pads[i] + pads[axes + i] - apart[i] * (kernel[2 + i] - 1) - 1) // strides[i]
        + 1
        for i in range(axes)
    ]
    return [(shape[0], kernel[0], *found)]


RULES: Mapping[str, Rule] = {
    "MatMul": _matmul, "Gemm": _gemm, "Concat": _concat, "Reshape": _reshape, "Expand": _expand,
    "Tile": _tile, "Pad": _pad, "Slice": _slice, "Split": _split, "Gather": _gather,
    "GatherElements": _second, "GatherND": _gather_nd, "Transpose": _transpose,
    "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Shape": _shape, "TopK": _top,
    "Einsum": _einsum, "Conv": _conv, "CumSum": _same, "Softmax": _same, "LogSoftmax": _same,
    "BatchNormalization": _same, "InstanceNormalization": _same, "LayerNormalization": _same,
    "Cast": _same, "Clip": _same,
    **dict.fromkeys(
        ("ArgMax", "ArgMin", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
         "ReduceProd", "ReduceSum"), _reduce),
}  # fmt: skip
"""By operation; all others work element by element."""


def count_products(operation: Operation, inputs: Inputs, shapes: Sequence[Shape]) -> int:
    """Roughly how many multiplications an operation takes."""
    made = sum(math.prod(shape) for shape in shapes)
    if operation.kind == "MatMul":
        return made * given(inputs[0]).shape[-1]
    if operation.kind == "Gemm":
        return given(inputs[0]).size * shapes[0][1]
    if operation.kind == "Conv":
        return made * math.prod(given(inputs[1]).shape[1:])
    if operation.kind == "Einsum":
        return math.prod(_letters(operation, inputs).values())
    return made + sum(value.size for value in inputs if value is not None)
