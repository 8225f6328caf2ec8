"""From a traced policy to an ONNX graph.

`torch.export` writes a module down as some twenty kinds of operation on tensors; `operations` says
each of them in ONNX. A learner is therefore exported as it is: there is no second place where its
distance or a conditioner is spelled out. What depends on weights alone is computed now, and what
would be computed twice is computed once, so that the graph is as small as one written by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, fx

from goalsets.core import GoalsetsError, Registry

if TYPE_CHECKING:
    import onnx  # pyright: ignore[reportMissingImports] - an extra

Value = Any
"""Of a node: the name of a tensor in the ONNX graph, a constant tensor, or a plain number."""
Lowering = Callable[..., Value]

LOWERINGS: Registry[Lowering] = Registry("operation")
"""By torch's name of the operation; each takes the graph and torch's arguments."""


class LoweringError(GoalsetsError):
    """A policy with an operation that has no counterpart in the table."""


class Graph:
    """The nodes and the constants of an ONNX graph, as they are collected."""

    def __init__(self) -> None:
        """Start empty."""
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.node: Any = None
        """The traced node that is being said; it knows the shapes."""
        self._made: dict[tuple[Any, ...], str] = {}
        self._sources: dict[str, tuple[Any, ...]] = {}
        self._stored: dict[tuple[Any, ...], str] = {}

    def add(self, kind: str, *inputs: Value, **attributes: int | float) -> str:
        """Add an operation, unless the same one is there already; return its output's name."""
        from onnx import helper  # pyright: ignore[reportMissingImports] - an extra

        names = [self.name(value) for value in inputs]
        key = (kind, tuple(names), tuple(sorted(attributes.items())))
        if key not in self._made:
            self._made[key] = f"{kind.lower()}_{len(self.nodes)}"
            self._sources[self._made[key]] = (inputs, kind, attributes)
            node = helper.make_node(kind, names, [self._made[key]])
            node.attribute.extend(helper.make_attribute(*pair) for pair in attributes.items())
            self.nodes.append(node)
        return self._made[key]

    def inputs_of(
        self, value: Value, kind: str, **attributes: int | float
    ) -> tuple[Value, ...] | None:
        """What an operation was given, if a value comes from one of this kind."""
        made = self._sources.get(value) if isinstance(value, str) else None
        return made[0] if made is not None and made[1:] == (kind, attributes) else None

    def name(self, value: Value) -> str:
        """The name of a value; a constant is stored first, unless an equal one is."""
        if isinstance(value, str):
            return value
        from onnx import numpy_helper  # pyright: ignore[reportMissingImports] - an extra

        array = _as_array(value)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._stored:
            self._stored[key] = f"constant_{len(self.constants)}"
            self.constants.append(numpy_helper.from_array(array, self._stored[key]))
        return self._stored[key]

    def finish(self, outputs: Mapping[str, str]) -> None:
        """Drop what no output needs, and give the outputs their names."""
        needed, nodes = set(outputs), list[Any]()
        for node in reversed(self.nodes):
            if needed.intersection(node.output):
                nodes.append(node)
                needed.update(node.input)
        self.nodes = nodes[::-1]
        self.constants = [constant for constant in self.constants if constant.name in needed]
        for node in self.nodes:
            for names in (node.input, node.output):
                names[:] = [outputs.get(name, name) for name in names]


def _as_array(value: Value) -> NDArray[Any]:
    if isinstance(value, Tensor):
        return np.array(value.detach().cpu().numpy(), order="C")
    # Whole numbers in a list are axes and sizes; a number by itself takes part in arithmetic.
    kind = np.int64 if isinstance(value, Sequence) else np.float32
    return np.asarray(value, dtype=kind)


def lower(
    program: torch.export.ExportedProgram, inputs: Sequence[str], outputs: Sequence[str]
) -> Graph:
    """Say a traced program in ONNX.

    Args:
        program: Traced.
        inputs: The names of its inputs, in order.
        outputs: Names for its outputs; it may have fewer.
    """
    graph = Graph()
    values: dict[fx.Node, Value] = {}
    constants = _constants(program)
    free = iter(inputs)

    def known(argument: Any) -> Any:  # noqa: ANN401 - whatever torch puts there
        return fx.map_arg(argument, lambda node: values[node])

    for node in program.graph.nodes:
        if node.op == "placeholder":
            values[node] = constants[node.name] if node.name in constants else next(free)
        elif node.op == "output":
            found = [graph.name(value) for value in known(node.args[0])]
            graph.finish(dict(zip(found, outputs, strict=False)))
        else:
            values[node] = _lower_node(graph, node, known(node.args), known(node.kwargs))
    return graph


def _lower_node(
    graph: Graph, node: fx.Node, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> Value:
    from goalsets.export import operations  # noqa: F401 - fills the table

    assert callable(node.target)
    if not _has_name([*args, *kwargs.values()]):  # weights alone: what they give is a weight, too
        return node.target(*args, **kwargs)
    name = str(node.target).removeprefix("aten.")
    if name not in LOWERINGS:
        raise LoweringError(
            f"the policy computes {name!r}, which has no counterpart in ONNX here: say it in "
            "goalsets.export.operations."
        )
    graph.node = node
    return LOWERINGS[name](graph, *args, **kwargs)


def _constants(program: torch.export.ExportedProgram) -> dict[str, Tensor]:
    """Parameters, buffers and other tensors by the names of their placeholders."""
    signature = program.graph_signature
    tensors = {**program.state_dict, **program.constants}
    sources = {
        **signature.inputs_to_parameters,
        **signature.inputs_to_buffers,
        **signature.inputs_to_lifted_tensor_constants,
    }
    return {name: tensors[source].detach() for name, source in sources.items()}


def _has_name(values: Sequence[Value]) -> bool:
    return any(isinstance(v, str) or (isinstance(v, list | tuple) and _has_name(v)) for v in values)
