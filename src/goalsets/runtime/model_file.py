"""Read the file of an exported policy, without trusting it.

ONNX files can do more than compute: they can point to other files, contain functions and subgraphs,
and call operators of libraries. A policy needs none of this. So we parse the file here, and refuse
everything that a policy does not need. Then we build a new model from the parsed parts. onnxruntime
gets only this model, never the file itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from goalsets.core import GoalsetsError, StateLayout, door, layout_from_dict
from goalsets.core.errors import FileError
from goalsets.runtime.graph import Operation, Value, WorkError
from goalsets.runtime.wire import (
    WireError,
    read_fields,
    read_numbers,
    signed,
    write_bytes,
    write_number,
)
from goalsets.runtime.work import check_work, known

FORMAT = "1"
FORMAT_KEY, LAYOUT_KEY, CARD_KEY = "goalsets.format", "goalsets.layout", "goalsets.card"
DIGEST_KEY = "goalsets.digest"
INPUTS = ("observation", "goal", "query")
ACTION, DISTANCE = "action", "distance"

LARGEST = 1 << 29
"""Bytes of the largest file that is read: half a gigabyte, a thousand times a usual one."""

# fmt: off
OPERATIONS = frozenset(
    {
        "Abs", "Acos", "Add", "And", "ArgMax", "ArgMin", "Asin", "Atan", "BatchNormalization",
        "Cast", "Ceil", "Clip", "Concat", "Conv", "Cos", "CumSum", "Div", "Einsum", "Elu", "Equal",
        "Erf", "Exp", "Expand", "Floor", "Gather", "GatherElements", "GatherND", "Gelu", "Gemm",
        "Greater", "GreaterOrEqual", "HardSwish", "Identity", "InstanceNormalization", "IsInf",
        "IsNaN", "LayerNormalization", "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax",
        "MatMul", "Max", "Min", "Mish", "Mod", "Mul", "Neg", "Not", "Or", "Pad", "Pow",
        "Reciprocal", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
        "ReduceProd", "ReduceSum", "Relu", "Reshape", "Round", "Shape", "Sigmoid", "Sign", "Sin",
        "Slice", "Softmax", "Softplus", "Split", "Sqrt", "Squeeze", "Sub", "Tan", "Tanh", "Tile",
        "TopK", "Transpose", "Unsqueeze", "Where", "Xor",
    }
)
# fmt: on
"""The operations that a policy may use. None reads a file, calls anything, or loops. A test exports
each of them."""
_WITH_TEXT = frozenset({"Einsum", "Gelu"})
"""Operations with a text attribute: which indices to sum, and which approximation."""

_ITEM_SIZES = {1: 4, 7: 8, 9: 1}
"""Bytes of float32, int64 and bool, by ONNX's numbers for them."""

# The numbers of the fields that an exported policy has, by message; any other is refused.
_MODEL = {"ir_version": 1, "producer": 2, "version": 3, "graph": 7, "opset": 8, "metadata": 14}
_GRAPH = {"node": 1, "name": 2, "constant": 5, "input": 11, "output": 12}
_NODE = {"input": 1, "output": 2, "name": 3, "kind": 4, "attribute": 5}
_ATTRIBUTE = {"name": 1, "float": 2, "integer": 3, "integers": 8, "type": 20}
_ATTRIBUTE_WITH_TEXT = {**_ATTRIBUTE, "text": 4}
_TENSOR = {"dims": 1, "type": 2, "name": 8, "data": 9}
_OPSET = {"domain": 1, "version": 2}
_ENTRY = {"key": 1, "value": 2}

Fields = list[tuple[str, Any]]


class ModelFileError(GoalsetsError):
    """A file is not an exported policy, or asks for more than a policy needs."""


@dataclass(frozen=True)
class _Node(Operation):
    data: memoryview = field(kw_only=True)


@dataclass(frozen=True)
class ModelFile:
    """An exported policy, parsed and not yet running."""

    path: Path
    layout: StateLayout
    card: Mapping[str, Any]
    """What was trained, on what, and how well it did: see `goalsets.export`."""
    outputs: tuple[str, ...]
    """`action`, and `distance` if the learner has one."""
    _head: bytes = field(repr=False)
    _nodes: tuple[_Node, ...] = field(repr=False)
    _constants: Mapping[str, memoryview] = field(repr=False)
    _inputs: tuple[memoryview, ...] = field(repr=False)
    _declared: Mapping[str, memoryview] = field(repr=False)

    def model(self, output: str) -> bytes:
        """An ONNX model with one output, and only what that output needs."""
        needed, nodes = {output}, list[_Node]()
        for node in reversed(self._nodes):
            if needed.intersection(node.outputs):
                nodes.append(node)
                needed.update(node.inputs)
        graph = [write_bytes(_GRAPH["node"], node.data) for node in reversed(nodes)]
        graph.append(write_bytes(_GRAPH["name"], b"policy"))
        graph += [
            write_bytes(_GRAPH["constant"], data)
            for name, data in self._constants.items()
            if name in needed
        ]
        graph += [write_bytes(_GRAPH["input"], data) for data in self._inputs]
        graph.append(write_bytes(_GRAPH["output"], self._declared[output]))
        return self._head + write_bytes(_MODEL["graph"], b"".join(graph))


def read_model_file(path: str | Path) -> ModelFile:
    """Read an exported policy, and refuse any other file."""
    path = Path(path)
    return understand(door.read_bytes(path, limit=LARGEST, kind=ModelFileError), path)


def understand(data: bytes, path: Path) -> ModelFile:
    """Parse the bytes of an exported policy; `path` is for messages."""
    try:
        return _understand(data, path)
    except (WireError, UnicodeDecodeError) as error:
        raise ModelFileError(f"{path} is no exported policy: {error}.") from None
    except WorkError as error:
        raise ModelFileError(f"{path} cannot be run: {error}") from None
    except ModelFileError as error:
        raise ModelFileError(f"{path} is refused: {error}") from None
    except FileError as error:  # damaged: it names the file itself
        raise ModelFileError(str(error)) from None
    except GoalsetsError as error:  # the layout contradicts itself
        raise ModelFileError(f"{path} is no exported policy: {error}") from None


def _understand(data: bytes, path: Path) -> ModelFile:
    model = _fields(memoryview(data), _MODEL, "the file")
    head = b""
    for name, value in model:
        if name == "ir_version":
            head += write_number(_MODEL["ir_version"], _integer(value))
        elif name == "opset":
            head += write_bytes(_MODEL["opset"], _checked_opset(value))
    metadata = dict(_entry(value) for name, value in model if name == "metadata")
    if metadata.get(FORMAT_KEY) != FORMAT:
        raise ModelFileError(
            f"it was not written by 'goalsets export' (format {metadata.get(FORMAT_KEY)!r}, "
            f"expected {FORMAT!r})."
        )
    graphs = [value for name, value in model if name == "graph"]
    if len(graphs) != 1:
        raise ModelFileError(f"expected one graph, got {len(graphs)}.")
    graph = _fields(_message(graphs[0]), _GRAPH, "the graph")
    declared = {_declared_name(value): value for name, value in graph if name == "output"}
    inputs = {_declared_name(value): value for name, value in graph if name == "input"}
    if tuple(inputs) != INPUTS or ACTION not in declared or not {ACTION, DISTANCE} >= set(declared):
        raise ModelFileError(
            f"expected inputs {', '.join(INPUTS)} and outputs {ACTION} and perhaps {DISTANCE}, got "
            f"{', '.join(inputs) or 'none'} and {', '.join(declared) or 'none'}."
        )
    missing = [key for key in (LAYOUT_KEY, CARD_KEY) if key not in metadata]
    if missing:
        raise ModelFileError(f"it has no {missing[0]!r}: it is incomplete, or not ours.")
    door.check_seal(data, metadata.get(DIGEST_KEY), path)
    layout = door.parse_json(metadata[LAYOUT_KEY], f"the layout in {path}")
    card = door.parse_json(metadata[CARD_KEY], f"the card in {path}")
    if not isinstance(layout, dict) or not isinstance(card, dict):
        raise ModelFileError("its layout and its card must be JSON objects.")
    nodes = tuple(_checked_node(value) for name, value in graph if name == "node")
    constants = [_checked_constant(value) for name, value in graph if name == "constant"]
    read = layout_from_dict(layout)
    values = {name: Value((1, read.dim)) for name in INPUTS}
    check_work(nodes, values | {name: value for name, _, value in constants})
    return ModelFile(
        path=path,
        layout=read,
        card=card,
        outputs=tuple(declared),
        _head=head,
        _nodes=nodes,
        _constants={name: data for name, data, _ in constants},
        _inputs=tuple(inputs.values()),
        _declared=declared,
    )


def _checked_opset(data: Any) -> memoryview:  # noqa: ANN401 - whatever the file has there
    for name, value in _fields(_message(data), _OPSET, "its operator set"):
        if name == "domain" and _text(value) not in ("", "ai.onnx"):
            raise ModelFileError(
                f"it uses operators of {_text(value)!r}, which are not ONNX's own."
            )
    return _message(data)


def _checked_node(data: Any) -> _Node:  # noqa: ANN401 - as above
    fields = _fields(_message(data), _NODE, "an operation")
    kinds = [_text(value) for name, value in fields if name == "kind"]
    if len(kinds) != 1 or kinds[0] not in OPERATIONS:
        raise ModelFileError(f"it computes {' '.join(kinds)!r}, which no policy needs.")
    known = _ATTRIBUTE_WITH_TEXT if kinds[0] in _WITH_TEXT else _ATTRIBUTE
    # Attributes are numbers: never a tensor or a graph, and rarely a text.
    attributes = dict(
        _attribute(_fields(_message(value), known, f"an attribute of {kinds[0]}"))
        for name, value in fields
        if name == "attribute"
    )
    return _Node(
        kind=kinds[0],
        attributes=attributes,
        inputs=tuple(_text(value) for name, value in fields if name == "input"),
        outputs=tuple(_text(value) for name, value in fields if name == "output"),
        data=_message(data),
    )


def _attribute(fields: Fields) -> tuple[str, Any]:
    """The name and the value of an attribute: a number, whole numbers or a text."""
    names = [_text(value) for name, value in fields if name == "name"]
    found: Any = []
    for name, value in fields:
        if name == "integers":  # one or many in a field
            found += read_numbers(value) if isinstance(value, memoryview) else [signed(value)]
        elif name == "integer":
            found = signed(_integer(value))
        elif name == "text":
            found = _text(value)
        elif name == "float":
            found = float(np.frombuffer(_message(value), "<f4")[0])
    return names[0] if names else "", found


def _checked_constant(data: Any) -> tuple[str, memoryview, Value]:  # noqa: ANN401 - as above
    fields = _fields(_message(data), _TENSOR, "a constant")
    kinds = [_integer(value) for name, value in fields if name == "type"]
    names = [_text(value) for name, value in fields if name == "name"]
    contents = [_message(value) for name, value in fields if name == "data"]
    dims = [_integer(value) for name, value in fields if name == "dims"]
    if len(kinds) != 1 or kinds[0] not in _ITEM_SIZES or len(names) != 1 or len(contents) > 1:
        raise ModelFileError("a constant must have a name and be float32, int64 or bool.")
    there = len(contents[0]) if contents else 0
    if math.prod(dims) * _ITEM_SIZES[kinds[0]] != there:
        raise ModelFileError(f"constant {names[0]!r} of shape {dims} has {there} bytes.")
    value = Value(tuple(dims))
    if kinds[0] == 7 and contents:
        value = known(np.frombuffer(contents[0], "<i8").reshape(dims))
    return names[0], _message(data), value


def _fields(data: memoryview, known: Mapping[str, int], what: str) -> Fields:
    """The fields of a message by name; unknown fields are refused."""
    names = {number: name for name, number in known.items()}
    found: Fields = []
    for number, value in read_fields(data):
        if number not in names:
            raise ModelFileError(
                f"{what} has a part (field {number}) that no exported policy has; the known parts "
                f"are {_listed(known)}."
            )
        found.append((names[number], value))
    return found


def _entry(data: Any) -> tuple[str, str]:  # noqa: ANN401 - as above
    fields = dict(_fields(_message(data), _ENTRY, "its metadata"))
    return _text(fields.get("key", memoryview(b""))), _text(fields.get("value", memoryview(b"")))


def _declared_name(data: Any) -> str:  # noqa: ANN401 - as above
    """The name of a declared input or output: its first field; the others give its type."""
    return next((_text(value) for number, value in read_fields(_message(data)) if number == 1), "")


def _message(value: Any) -> memoryview:  # noqa: ANN401 - as above
    if not isinstance(value, memoryview):
        raise WireError("a number where a message should be")
    return value


def _integer(value: Any) -> int:  # noqa: ANN401 - as above
    if not isinstance(value, int):
        raise WireError("bytes where a number should be")
    return value


def _text(value: Any) -> str:  # noqa: ANN401 - as above
    return bytes(_message(value)).decode("utf-8")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
