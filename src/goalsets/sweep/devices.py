"""Where runs compute: on processors, or on accelerators that are handed out one to a run."""

from __future__ import annotations

import os
from typing import Literal

from goalsets.sweep.grid import SweepError

Device = Literal["cpu", "cuda"]
VISIBLE = "CUDA_VISIBLE_DEVICES"
"""The variable by which a process is shown some accelerators of a machine and no others."""


def accelerators(device: Device) -> tuple[str, ...]:
    """The accelerators of this machine that we may use, as `VISIBLE` names them; none for cpu."""
    if device == "cpu":
        return ()
    import torch

    count = torch.cuda.device_count()  # counts without taking hold of any
    if not count:
        raise SweepError(
            f"there is no device {device!r} to train on here: torch {torch.__version__} sees none."
        )
    shown = [name.strip() for name in os.environ.get(VISIBLE, "").split(",") if name.strip()]
    return tuple(shown[:count]) or tuple(str(index) for index in range(count))
