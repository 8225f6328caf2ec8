"""Print, as JSON, how far three steps raise the peak memory of a process of their own."""

from __future__ import annotations

import json
import resource
import sys

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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        step()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"gib": (after - before) / 2**20}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
