"""Torch's operations, said in ONNX: one function each, registered under torch's name.

Each takes the graph and torch's arguments: names of tensors in the ONNX graph, constant tensors, or
plain numbers. It adds what it needs and returns the name of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from goalsets.export.lowering import LOWERINGS, Graph, LoweringError, Value

_UNARY = {
    "neg.default": "Neg",
    "abs.default": "Abs",
    "exp.default": "Exp",
    "log.default": "Log",
    "sqrt.default": "Sqrt",
    "relu.default": "Relu",
    "tanh.default": "Tanh",
    "sigmoid.default": "Sigmoid",
}
_BINARY = {
    "sub.Tensor": "Sub",
    "div.Tensor": "Div",
    "minimum.default": "Min",
    "maximum.default": "Max",
}
_REDUCTIONS = {
    "sum.dim_IntList": "ReduceSum",
    "mean.dim": "ReduceMean",
    "amax.default": "ReduceMax",
    "amin.default": "ReduceMin",
}


def _register_plain() -> None:
    """Operations that both libraries have, under different names."""

    def unary(kind: str) -> Any:  # noqa: ANN401 - a lowering
        return lambda graph, x: graph.add(kind, x)

    def binary(kind: str) -> Any:  # noqa: ANN401 - a lowering
        def lowering(graph: Graph, x: Value, y: Value, *, alpha: float = 1) -> str:
            return graph.add(kind, x, y if alpha == 1 else graph.add("Mul", y, alpha))

        return lowering

    def reduction(kind: str) -> Any:  # noqa: ANN401 - a lowering
        def lowering(graph: Graph, x: Value, axes: Sequence[int], keepdim: bool = False) -> str:
            return graph.add(kind, x, list(axes), keepdims=int(keepdim))

        return lowering

    for table, make in ((_UNARY, unary), (_BINARY, binary), (_REDUCTIONS, reduction)):
        for name, kind in table.items():
            LOWERINGS.add(name, make(kind))


_register_plain()

# --- Layers -----------------------------------------------------------------------------------


@LOWERINGS.register("linear.default")
def _linear(graph: Graph, x: Value, weight: Value, bias: Value = None) -> str:
    if _rank(graph.node.args[0]) != 2 or bias is None:
        raise LoweringError("only linear layers with a bias, over [B, n], can be exported.")
    return graph.add("Gemm", x, weight, bias, transB=1)


@LOWERINGS.register("mul.Tensor")
def _mul(graph: Graph, x: Value, y: Value) -> str:
    layer = graph.inputs_of(x, "Gemm", transB=1)
    if layer is not None and isinstance(y, Tensor) and y.ndim == 1:
        # A layer's output that is scaled is a layer with scaled weights: one operation fewer.
        inputs, weight, bias = layer
        return graph.add("Gemm", inputs, weight * y[:, None], bias * y, transB=1)
    return graph.add("Mul", x, y)


@LOWERINGS.register("add.Tensor")
def _add(graph: Graph, x: Value, y: Value, *, alpha: float = 1) -> str:
    layer = graph.inputs_of(x, "Gemm", transB=1)
    if layer is not None and isinstance(y, Tensor) and y.ndim == 1:
        inputs, weight, bias = layer
        return graph.add("Gemm", inputs, weight, bias + alpha * y, transB=1)
    return graph.add("Add", x, y if alpha == 1 else graph.add("Mul", y, alpha))


@LOWERINGS.register("baddbmm.default")
def _baddbmm(graph: Graph, bias: Value, x: Value, weight: Value) -> str:
    return graph.add("Add", graph.add("MatMul", x, weight), bias)


@LOWERINGS.register("linalg_vecdot.default")
def _vecdot(graph: Graph, x: Value, y: Value) -> str:
    return graph.add("ReduceSum", graph.add("Mul", x, y), [-1], keepdims=0)


@LOWERINGS.register("gelu.default")
def _gelu(graph: Graph, x: Value) -> str:
    return graph.add("Gelu", x)


@LOWERINGS.register("layer_norm.default")
def _layer_norm(
    graph: Graph,
    x: Value,
    shape: Sequence[int],
    weight: Value = None,
    bias: Value = None,
    epsilon: float = 1e-5,
    *_: Any,  # noqa: ANN401 - which library computes it
) -> str:
    if weight is None:
        weight, bias = torch.ones(*shape), torch.zeros(*shape)
    return graph.add("LayerNormalization", x, weight, bias, epsilon=epsilon, axis=-len(shape))


@LOWERINGS.register("softplus.default")
def _softplus(
    graph: Graph,
    x: Value,
    beta: float = 1.0,
    *_: Any,  # noqa: ANN401 - see below
) -> str:
    # Torch is linear above the threshold, where the two differ by less than float32 can tell.
    if beta != 1:
        raise LoweringError(f"softplus can be exported with beta = 1, got {beta}.")
    return graph.add("Softplus", x)


@LOWERINGS.register("addcmul.default")
def _addcmul(graph: Graph, start: Value, x: Value, y: Value) -> str:
    return graph.add("Add", graph.add("Mul", x, y), start)


# --- Choosing and bounding --------------------------------------------------------------------


@LOWERINGS.register("where.self")
def _where(graph: Graph, condition: Value, yes: Value, no: Value) -> str:
    return graph.add("Where", condition, yes, no)


@LOWERINGS.register("clamp.default")
def _clamp_to_numbers(
    graph: Graph, x: Value, low: float | None = None, high: float | None = None
) -> str:
    infinity = float("inf")
    return graph.add(
        "Clip", x, -infinity if low is None else low, infinity if high is None else high
    )


@LOWERINGS.register("clamp.Tensor")
def _clamp(graph: Graph, x: Value, low: Value = None, high: Value = None) -> Value:
    if low is not None:
        x = graph.add("Max", x, low)
    return x if high is None else graph.add("Min", x, high)


@LOWERINGS.register("_to_copy.default")
def _to_copy(graph: Graph, x: Value, *, dtype: torch.dtype, **_: Any) -> str:  # noqa: ANN401
    from onnx import TensorProto  # pyright: ignore[reportMissingImports] - an extra

    kinds = {torch.float32: TensorProto.FLOAT, torch.bool: TensorProto.BOOL}
    return graph.add("Cast", x, to=kinds[dtype])


@LOWERINGS.register("_assert_tensor_metadata.default")
def _assert_tensor_metadata(graph: Graph, *_: Any, **__: Any) -> None:  # noqa: ANN401
    """The file declares the types of its inputs."""


# --- Shapes -----------------------------------------------------------------------------------


@LOWERINGS.register("cat.default")
def _cat(graph: Graph, parts: Sequence[Value], axis: int = 0) -> str:
    axis %= _rank(graph.node)
    # Parts that were joined along the same axis are joined at once.
    flat = [p for part in parts for p in graph.inputs_of(part, "Concat", axis=axis) or (part,)]
    return graph.add("Concat", *flat, axis=axis)


@LOWERINGS.register("unsqueeze.default")
def _unsqueeze(graph: Graph, x: Value, axis: int) -> str:
    return graph.add("Unsqueeze", x, [axis])


@LOWERINGS.register("squeeze.dim")
def _squeeze(graph: Graph, x: Value, axis: int) -> str:
    return graph.add("Squeeze", x, [axis])


@LOWERINGS.register("select.int")
def _select(graph: Graph, x: Value, axis: int, index: int) -> str:
    return graph.add("Gather", x, torch.tensor(index), axis=axis)


@LOWERINGS.register("slice.Tensor")
def _slice(
    graph: Graph,
    x: Value,
    axis: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> str:
    last = torch.iinfo(torch.int64).max
    bounds = [0 if start is None else start], [last if stop is None else stop]
    return graph.add("Slice", x, *bounds, [axis], [step])


@LOWERINGS.register("index.Tensor")
def _index(graph: Graph, x: Value, indices: Sequence[Value]) -> str:
    chosen = [axis for axis, index in enumerate(indices) if index is not None]
    if len(chosen) != 1 or not isinstance(indices[chosen[0]], Tensor):
        raise LoweringError("only indexing along one axis, with fixed indices, can be exported.")
    return graph.add("Gather", x, indices[chosen[0]], axis=chosen[0])


@LOWERINGS.register("expand.default")
def _expand(graph: Graph, x: Value, sizes: Sequence[Any]) -> Value:
    before: Any = graph.node.args[0]
    shape = [1] * (len(sizes) - _rank(before)) + list(before.meta["val"].shape)
    wanted = [
        size if isinstance(size, int) and size >= 0 and size != old else 1
        for size, old in zip(sizes, shape, strict=True)
    ]
    if len(sizes) == _rank(before) and all(size == 1 for size in wanted):
        return x  # already of that shape
    return graph.add("Expand", x, wanted)


def _rank(node: Any) -> int:  # noqa: ANN401 - a node of a traced graph
    return node.meta["val"].ndim
