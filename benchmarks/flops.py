"""Count the multiplications of a step, and measure the peak rate of the machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "addmm_": 1, "baddbmm": 1}
"""The position of the left factor among the tensors of each product."""


class CountFlops(TorchDispatchMode):
    """Counts two operations for each multiply-add of matrix products, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = func.__name__.split(".")[0]
        if name in _PRODUCTS:
            left, right = args[_PRODUCTS[name] : _PRODUCTS[name] + 2]
            self.total += 2 * left.numel() * right.shape[-1]
        return func(*args, **(kwargs or {}))


def flops(act: Callable[[], object]) -> int:
    """The operations in the matrix products of a call."""
    with CountFlops() as counted:
        act()
    return counted.total


class Product:
    """The product of a 1024×256 and a 256×256 matrix: what a hidden layer does to a batch."""

    def __init__(self) -> None:
        self._left, self._right = torch.randn(1024, 256), torch.randn(256, 256)
        self._out = torch.empty(1024, 256)
        self._rates: list[float] = []

    def measure(self, times: int = 10) -> None:
        """Time a few more products, in between the steps that they are compared with."""
        for _ in range(times):
            start = time.perf_counter()
            for _ in range(5):
                torch.mm(self._left, self._right, out=self._out)
            seconds = (time.perf_counter() - start) / 5
            self._rates.append(2 * 1024 * 256 * 256 / seconds)

    @property
    def peak(self) -> float:
        """Operations a second: the median, as for the steps."""
        return median(self._rates)
