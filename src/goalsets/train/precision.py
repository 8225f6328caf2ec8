"""Checks before training whether this machine can train in bfloat16.

A processor may lack the instructions. Or it may claim to have them, but end the process that uses
them. So they are tried in a separate process.
"""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable

from goalsets.core import GoalsetsError
from goalsets.workers import silence

_SECONDS = 120
"""The time limit of the probe on a busy machine; usually it takes about three seconds."""
_WORTH = 1.1
"""If bfloat16 is less than this many times as fast as float32, it is not worth using."""

_PROBE = """
import sys, time
import torch

device = sys.argv[1]
torch.set_num_threads(1)
torch.manual_seed(0)
x, w = torch.randn(1024, 256, device=device), torch.randn(256, 256, device=device)

def product(dtype):
    a, b = x.to(dtype).requires_grad_(), w.to(dtype).requires_grad_()
    times = []
    for _ in range(20):
        start = time.perf_counter()
        y = torch.nn.functional.gelu(a @ b)
        y.sum().backward()
        found = float(y.float().square().mean())
        times.append(time.perf_counter() - start)
    return found, sorted(times)[len(times) // 2]

(wanted, slow), (found, fast) = product(torch.float32), product(torch.bfloat16)
if abs(found - wanted) > 0.02 * wanted:
    sys.exit(f"a product in bfloat16 gives {found:.4g} instead of {wanted:.4g}")
print(slow / fast)
"""


def check_precision(precision: str, device: str, say: Callable[[str], None] = silence) -> None:
    """Raise an error if the machine cannot train in a precision; say if it is not faster."""
    if precision == "float32":
        return
    ratio = _speedup(device)
    if ratio < _WORTH:
        say(
            f"bfloat16 is {ratio:.1f} times as fast as float32 here, because this machine has no "
            "fast instructions for it: better use --precision float32"
        )


@functools.cache
def _speedup(device: str) -> float:
    """How many times as fast a layer is in bfloat16 as in float32."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, device],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _cannot(str(error)) from None
    if done.returncode:
        last = done.stderr.strip().splitlines()
        by_signal = f"it was ended by signal {-done.returncode}"
        raise _cannot(by_signal if done.returncode < 0 or not last else last[-1])
    return float(done.stdout)


def _cannot(reason: str) -> GoalsetsError:
    return GoalsetsError(
        f"this machine cannot train in bfloat16: a probe failed ({reason}). Use precision float32."
    )
