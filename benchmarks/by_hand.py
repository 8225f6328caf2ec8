"""What we write by hand beside what a library does: `python -m benchmarks.by_hand [PART ...]`.

The tree of a commit before the change and this one each get a process. They take turns at the same
work on the same core, and count the processor's time, so that whatever else the machine does falls
on both or on neither; a figure is the median over the turns of one time by the other. What we keep
is measured beside what could be there instead. The design note "Less by hand" has the figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import torch
from torch.nn import functional as F

from benchmarks.line import one_core
from benchmarks.peak_memory import peak_kib
from goalsets.learners.crl import contrast

BEFORE = "6af33e3"
"""The last commit that did all of this by hand."""
ROOT = Path(__file__).resolve().parent.parent
WIDTH = 256


class Side:
    """A process that answers from the code of one tree."""

    def __init__(self, tree: Path) -> None:
        paths = os.pathsep.join(map(str, (tree / "src", tree)))
        self._process = subprocess.Popen(
            [sys.executable, "-c", (ROOT / "benchmarks" / "by_hand_side.py").read_text()],
            env={**os.environ, "PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=tree,
        )

    def ask(self, *words: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(words), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


def main(parts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place, one_core():
        archive = ["git", "archive", BEFORE, "src", "benchmarks"]
        tree = subprocess.run(archive, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        subprocess.run(["tar", "-x", "-C", place], input=tree.stdout, check=True)
        before, after = Side(Path(place)), Side(ROOT)
        print(f"times of this tree by those of {BEFORE}:")
        for part in parts or PARTS:
            for line in PARTS[part](before, after):
                print(f"  {line}", flush=True)
        before.close()
        after.close()


def _steps(before: Side, after: Side) -> Iterator[str]:
    for learner in ("gcbc", "gcivl", "gciql", "gcdl", "crl"):
        for batch in (256, 1024):
            yield _turns(f"{learner}, batch {batch}: step", before, after, "step", learner, batch)
    for learner in ("gcivl", "crl"):
        yield _turns(f"{learner}, three seeds together", before, after, "together", learner)


def _exports(before: Side, after: Side) -> Iterator[str]:
    for learner in ("gcbc", "gcdl", "gciql", "crl"):
        for name, side in (("before", before), ("now", after)):
            told = {key: f"{value:.4g}" for key, value in side.ask("export", learner).items()}
            yield f"{learner}, exported {name}: " + ", ".join(f"{k} {v}" for k, v in told.items())
        yield _turns(f"{learner}, one action exported", before, after, "act", learner)
        if learner != "gcbc":
            yield _turns(f"{learner}, one distance", before, after, "distance", learner)


def _counting(before: Side, after: Side) -> Iterator[str]:
    for name, side in (("before", before), ("now", after)):
        costs = [side.ask("count") / side.ask("policy") for _ in range(15)]
        yield f"counting an action {name}, of an action: {100 * median(costs):.2f} %"


def _turns(what: str, before: Side, after: Side, *words: object, turns: int = 21) -> str:
    """The ratio of two times; each begins half of the turns."""
    for side in (before, after):
        side.ask(*words)
    ratios = list[float]()
    for turn in range(turns):
        order = (before, after) if turn % 2 else (after, before)
        seconds = {side: side.ask(*words) for side in order}
        ratios.append(seconds[after] / seconds[before])
    ratios.sort()
    spread = f"{ratios[turns // 4]:.3f} to {ratios[-1 - turns // 4]:.3f}"
    return f"{what}: {median(ratios):.3f} (half of the turns: {spread})"


def _kept(*_: Side) -> Iterator[str]:
    torch.set_num_threads(1)
    x, w, b = torch.randn(2, 1024, WIDTH), torch.randn(2, 1, WIDTH), torch.zeros(2, 1, 1)
    product = _forward_and_back(lambda x, w: torch.baddbmm(b, x, w.mT), x, w)
    dot = _forward_and_back(lambda x, w: torch.linalg.vecdot(x, w)[..., None] + b, x, w)
    yield _beside("one output of two networks: batched product by dot product", product, dot)
    phi, psi = torch.randn(2, 2, 8192, WIDTH)
    ours, plain = _contrasts(phi, psi)
    # Before anything large was computed, for the peak only rises; so ours comes first.
    peaks = [peak_kib()]
    for act in (ours, plain):
        act()
        peaks.append(peak_kib())
    grown = [f"{(peak - peaks[0]) / 2**20:.2f} GiB" for peak in peaks[1:]]
    yield f"contrast, batch 8192: peak memory {grown[0]}, by plain operations {grown[1]}"
    yield _beside("contrast, batch 8192, by plain operations", ours, plain)
    ours, plain = _contrasts(phi[:, :1024], psi[:, :1024])
    yield _beside("contrast, batch 1024, by plain operations", ours, plain)


def _contrasts(phi: torch.Tensor, psi: torch.Tensor) -> list[Callable[[], object]]:
    ours = _forward_and_back(lambda phi, psi: contrast(phi, psi)[0], phi, psi)
    return [ours, _forward_and_back(plain_contrast, phi, psi)]


def plain_contrast(phi: torch.Tensor, psi: torch.Tensor) -> torch.Tensor:
    """CRL's loss as one would write it, left to autograd."""
    scores = torch.bmm(phi, psi.mT) / phi.shape[-1] ** 0.5
    positives = scores.diagonal(dim1=-2, dim2=-1)
    return (F.softplus(scores).sum() - positives.sum()) / scores.numel()


def _forward_and_back(
    function: Callable[..., torch.Tensor], *inputs: torch.Tensor
) -> Callable[[], object]:
    given = [each.clone().requires_grad_() for each in inputs]

    def act() -> object:
        found = function(*given)
        return torch.autograd.grad(found, given, torch.ones_like(found))

    return act


def _beside(
    what: str, ours: Callable[[], object], other: Callable[[], object], turns: int = 9
) -> str:
    ours(), other()
    ratios = [_seconds(ours) / _seconds(other) for _ in range(turns)]
    return f"{what}: {median(ratios):.3f}"


def _seconds(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


PARTS = {"steps": _steps, "exports": _exports, "counting": _counting, "kept": _kept}

if __name__ == "__main__":
    main(sys.argv[1:])
