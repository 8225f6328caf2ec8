"""Where runs compute: on processors, or on accelerators, one for each run."""

from __future__ import annotations

import os
from typing import Literal

from goalsets.sweep.grid import SweepError

Device = Literal["cpu", "cuda"]
VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable that limits which accelerators a process sees."""


def accelerators(device: Device) -> tuple[str, ...]:
    """The accelerators of this machine that we may use, as `VISIBLE` names them; none for cpu."""
    if device == "cpu":
        return ()
    import torch

    count = torch.cuda.device_count()  # does not initialise any of them
    if not count:
        raise SweepError(
            f"torch {torch.__version__} finds no {device!r} device here: use --device cpu."
        )
    shown = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return tuple(shown[:count]) or tuple(str(index) for index in range(count))
