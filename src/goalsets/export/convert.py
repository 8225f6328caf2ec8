"""Convert a traced policy into an ONNX model, with `torch.onnx`.

Torch has a table of operations, so we keep none. Torch also writes source locations, intermediate
types, and attributes with default values. We remove these: they are not needed, may be private, and
the runtime refuses parts that it does not know.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from goalsets.core import GoalsetsError
from goalsets.runtime.model_file import OPERATIONS

if TYPE_CHECKING:
    import onnx  # pyright: ignore[reportMissingImports] - an extra

OPSET = 20
"""The first with Gelu as one operation."""


class ConversionError(GoalsetsError):
    """The policy has an operation that ONNX lacks, or that the runtime refuses."""


def convert(
    program: torch.export.ExportedProgram, inputs: Sequence[str], outputs: Sequence[str]
) -> onnx.ModelProto:
    """Convert a traced program into an ONNX model that includes its weights.

    Args:
        program: The traced program.
        inputs: Names of its inputs, in order.
        outputs: Names of its outputs; there may be more names than outputs.
    """
    count = len(program.graph_signature.user_outputs)
    try:
        with _quiet():
            made = torch.onnx.export(
                program,
                dynamo=True,
                opset_version=OPSET,
                input_names=list(inputs),
                output_names=list(outputs[:count]),
                external_data=False,
                verbose=False,
            )
    except torch.onnx.errors.OnnxExporterError as error:
        raise ConversionError(
            f"torch cannot convert the policy to ONNX: {_first_cause(error)}"
        ) from error
    assert made is not None
    model = made.model_proto
    refused = sorted({node.op_type for node in model.graph.node} - OPERATIONS)
    if refused:
        raise ConversionError(
            f"the policy uses the ONNX operations {', '.join(refused)}, which goalsets.runtime "
            "does not run. Use other operations, or add these to goalsets.runtime.model_file if "
            "they only compute."
        )
    _strip(model)
    return model


def _strip(model: onnx.ModelProto) -> None:
    """Remove everything but the computation."""
    graph = model.graph
    for message in (model, graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        for name in ("metadata_props", "doc_string"):
            message.ClearField(name)
    graph.ClearField("value_info")
    model.producer_name, model.producer_version, graph.name = "goalsets", "", "policy"
    for node in graph.node:
        needed = [attribute for attribute in node.attribute if not _is_default(node, attribute)]
        del node.attribute[:]
        node.attribute.extend(needed)


def _is_default(node: onnx.NodeProto, attribute: onnx.AttributeProto) -> bool:
    from onnx import defs, helper  # pyright: ignore[reportMissingImports] - an extra

    default = defs.get_schema(node.op_type, OPSET).attributes[attribute.name].default_value
    return default.type == attribute.type and (
        helper.get_attribute_value(default) == helper.get_attribute_value(attribute)
    )


def _first_cause(error: BaseException) -> str:
    """The message of the innermost error; the errors around it name stages of the export."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence torch, which announces future changes and packages that it does not find."""
    talkers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    before = [talker.level for talker in talkers]
    try:
        for talker in talkers:
            talker.setLevel(logging.ERROR)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        for talker, level in zip(talkers, before, strict=True):
            talker.setLevel(level)
