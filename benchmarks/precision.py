"""Training in bfloat16: a step of each learner, compared with the same step in float32."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import torch

from benchmarks.learners import make_trainer
from benchmarks.line import Line
from goalsets.core import GoalsetsError
from goalsets.nets import compute_in
from goalsets.train.precision import check_precision

LEARNERS = ("gcbc", "gcivl", "gciql", "gcdl", "crl")
BATCH = 1024
STEPS = 15


def lines() -> Iterator[Line]:
    """Yield the lines; without a target if the machine has no bfloat16."""
    torch.set_num_threads(1)
    try:
        check_precision("bfloat16", "cpu")
    except GoalsetsError as error:
        print(error)
        return
    for name in LEARNERS:
        trainer = make_trainer(name, BATCH, inputs="relational")
        taken: dict[torch.dtype | None, list[float]] = {None: [], torch.bfloat16: []}
        for _ in range(STEPS):  # in turns, so that other load affects both alike
            for dtype, seconds in taken.items():
                compute_in(trainer.learner, dtype)
                start = time.perf_counter()
                trainer.step()
                seconds.append(time.perf_counter() - start)
        exact, rough = (median(seconds[2:]) for seconds in taken.values())
        what = f"{name}, a step of {BATCH} in bfloat16, of float32's time"
        yield Line(what, rough / exact, "", target=0.9, at_most=True)
