"""Print, as JSON, how much three steps raise the peak memory of this process."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from benchmarks import released
from benchmarks.learners import make_trainer, random_data


def main(whose: str, name: str, batch_size: int) -> None:
    torch.set_num_threads(2)
    data = random_data()
    step = (
        make_trainer(name, batch_size).step
        if whose == "ours"
        else released.make_step(name, batch_size, data)
    )
    before = peak_kib()
    for _ in range(3):
        step()
    print(json.dumps({"gib": (peak_kib() - before) / 2**20}))


def peak_kib() -> int:
    """The peak of this process. `ru_maxrss` would start with the peak of its parent."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
