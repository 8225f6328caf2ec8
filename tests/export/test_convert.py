"""Whatever a learner computes is said in ONNX without a table of ours, and answers the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from goalsets.export.convert import ConversionError, convert
from goalsets.runtime.model_file import OPERATIONS

WIDTH = 12
Function = Callable[[Tensor, Tensor], Tensor]


def interval_distance(x: Tensor, y: Tensor) -> Tensor:
    """A quasimetric: the length of a union of intervals, by sorting their ends."""
    x, y = x.reshape(-1, 3, 4), y.reshape(-1, 3, 4)
    ends, order = torch.cat((x, y), -1).sort(-1)
    real = torch.gather((x < y).float(), -1, order % 4)
    inside = torch.cumsum(real * torch.where(order < 4, 1.0, -1.0), -1) > 0
    return ((ends[..., 1:] - ends[..., :-1]) * inside[..., :-1]).sum(-1).mean(-1)


def denoised(x: Tensor, y: Tensor) -> Tensor:
    """A few steps along a flow, as a chunk of actions."""
    actions = torch.zeros_like(x)
    for step in range(3):
        actions = actions + torch.tanh(torch.cat((actions, x + step, y), -1)[:, :WIDTH]) / 3
    return actions.unflatten(-1, (3, 4)).flip(1).permute(0, 2, 1).flatten(1)


def attention(x: Tensor, y: Tensor) -> Tensor:
    q, k = x.unflatten(-1, (3, 4)), y.unflatten(-1, (3, 4))
    return torch.softmax(q @ k.mT / 2, -1).matmul(k).flatten(1)


FUNCTIONS: list[Function] = [
    interval_distance,
    denoised,
    attention,
    lambda x, y: torch.einsum("bi,bi->b", x, y),
    lambda x, y: F.normalize(x, dim=-1) * torch.linalg.vector_norm(y, dim=-1, keepdim=True),
    lambda x, y: torch.log_softmax(x, -1) + torch.logsumexp(y, -1, keepdim=True),
    lambda x, y: torch.sin(x) + torch.cos(y) + torch.atan2(x, y) + torch.tan(0.1 * x),
    lambda x, y: torch.acos(x.clamp(-1, 1)) + torch.asin(y.clamp(-1, 1)),
    lambda x, y: F.elu(x) + F.leaky_relu(y) + F.mish(x) + F.hardswish(y) + F.relu(x) + F.silu(y),
    lambda x, y: F.gelu(x, approximate="tanh") + F.gelu(y) + F.softplus(x) - torch.sigmoid(y),
    lambda x, y: torch.gather(y, 1, x.argmin(-1, keepdim=True)) + x.argmax(-1, keepdim=True),
    lambda x, y: x.max(-1).values + y.min(-1).values + x.amax(-1) - y.amin(-1) + x.prod(-1),
    lambda x, y: ((x > 0) & (y < 0) | ~(x >= y) ^ (x <= y) | (x == y)).float(),
    lambda x, y: x.round() + y.floor() + x.ceil() + x.sign() + torch.remainder(y, 1.0),
    lambda x, y: torch.erf(x) + torch.rsqrt(y.abs() + 1) + torch.log(x.exp() + 1) + x**3 - (-y),
    lambda x, y: torch.clamp(torch.clamp(x, min=y), max=torch.abs(y)) + torch.nan_to_num(x),
    lambda x, y: F.conv1d(x[:, None], torch.ones(2, 1, 3)).flatten(1) + F.pad(y, (4, 4)),
    lambda x, y: F.batch_norm(x, torch.zeros(WIDTH), torch.ones(WIDTH)) + F.group_norm(y, 3),
    lambda x, y: F.layer_norm(x, (WIDTH,)) + F.rms_norm(y, (WIDTH,)) + x.std(-1, keepdim=True),
    lambda x, y: F.linear(x, torch.ones(3, WIDTH), torch.ones(3)) + y.chunk(4, -1)[1],
    lambda x, y: torch.baddbmm(torch.ones(2, 1, 3), x.expand(2, -1, -1), torch.ones(2, WIDTH, 3)),
    lambda x, y: (x.repeat(1, 2)[:, ::2] + y.mean(-1, keepdim=True)).unsqueeze(0).squeeze(0),
    lambda x, y: x.unflatten(-1, (3, 4))[:, [2, 0], [1, 3]] + y[:, :2],
    lambda x, y: F.dropout(y, training=False),
    lambda x, y: x.topk(3).values * torch.stack((x, y)).mean(0)[:, 5:8],
]


class Whole(nn.Module):
    """Functions as the outputs of one module."""

    def __init__(self, functions: list[Function]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return tuple(function(x, y) for function in self.functions)


def said(functions: list[Function]):
    rows = torch.export.Dim("batch", min=1)
    example = torch.randn(2, 2, WIDTH).unbind()
    program = torch.export.export(
        Whole(functions), example, dynamic_shapes=({0: rows},) * 2, strict=False
    )
    return convert(program, ("x", "y"), [f"answer {i}" for i in range(len(functions))])


@pytest.mark.full
def test_what_learners_compute_is_said_in_onnx() -> None:
    """Every operation that the runtime runs comes from here, and no other comes."""
    model = said(FUNCTIONS)
    assert {node.op_type for node in model.graph.node} == OPERATIONS
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    for rows in (1, 7):
        x, y = torch.randn(2, rows, WIDTH)
        answers = session.run(None, {"x": x.numpy(), "y": y.numpy()})
        expected = Whole(FUNCTIONS)(x, y)
        for index, (found, wanted) in enumerate(zip(answers, expected, strict=True)):
            message = f"function {index}, {rows} rows"
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4, err_msg=message)


def test_the_file_says_nothing_of_where_it_came_from() -> None:
    text = str(said([lambda x, y: F.gelu(x) + y]))
    for word in ("metadata_props", "doc_string", "pytorch", "tests/export", "value_info", "none"):
        assert word not in text


def test_an_operation_that_the_runtime_refuses_is_named() -> None:
    with pytest.raises(
        ConversionError, match="uses the ONNX operations Resize, which goalsets.runtime"
    ):
        said([lambda x, y: F.interpolate(x[:, None], scale_factor=2.0)])
