"""Compare our own code with a library's: `python -m benchmarks.by_hand [PART ...]`.

The source before a change and the source after it each run in a process. They take turns at the
same work on the same core, and measure processor time, so that other load affects both alike. A
figure is the median, over the turns, of the ratio of the two times. Code that we keep is compared
with its alternative. The figures are in the design note "Less by hand".
"""

from __future__ import annotations

import contextlib
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

CHANGES = {
    "steps": ("6af33e3", "this tree"),
    "faults": ("6af33e3", "e91536f", "this tree"),
    "exports": ("5ffc53e", "this tree"),
    "counting": ("5ffc53e", "this tree"),
}
"""For each part, the last commit with our own code, and later sources without it."""
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
    for part in parts or PARTS:
        commits = CHANGES.get(part, ())
        print(f"{part}: {', then '.join(commits) or 'this tree by what could be there instead'}")
        with tempfile.TemporaryDirectory() as place, one_core():
            trees = [_tree(commit, Path(place)) for commit in commits]
            for line in PARTS[part](*trees):
                print(f"  {line}", flush=True)


@contextlib.contextmanager
def _sides(*trees: Path) -> Iterator[list[Side]]:
    sides = [Side(tree) for tree in trees]
    yield sides
    for side in sides:
        side.close()


def _tree(commit: str, place: Path) -> Path:
    """The source and the benchmarks of a commit."""
    if commit == "this tree":
        return ROOT
    (place / commit).mkdir()
    archive = ["git", "archive", commit, "src", "benchmarks"]
    packed = subprocess.run(archive, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(place / commit)], input=packed, check=True)
    return place / commit


def _steps(*trees: Path) -> Iterator[str]:
    for learner in ("gcbc", "gcivl", "gciql", "gcdl", "crl"):
        yield _median(f"{learner}, batch 1024: step", _fresh(trees, "step", learner, 1024))
    for learner in ("gcivl", "crl"):
        yield _median(f"{learner}, three seeds together", _fresh(trees, "together", learner))


def _fresh(trees: tuple[Path, ...], *words: object) -> list[float]:
    """Repeat in new processes, because the placement of memory makes some faster."""
    ratios = list[float]()
    for _ in range(3):
        with _sides(*trees) as (before, after):
            ratios += _turns(before, after, *words, turns=7)
    return ratios


def _faults(*trees: Path) -> Iterator[str]:
    for learner in ("gcdl", "crl"):
        told = list[str]()
        for tree in trees:
            found = list[list[float]]()
            for _ in range(3):
                with _sides(tree) as (side,):
                    found.append(side.ask("faults", learner))
            count, share = (median(column) for column in zip(*found, strict=True))
            told.append(f"{count:.0f} ({100 * share:.1f} % of the time is the system's)")
        yield f"{learner}, page faults of a step: {', '.join(told)}"


def _exports(*trees: Path) -> Iterator[str]:
    with _sides(*trees) as (before, after):
        for learner in ("gcbc", "gcdl", "gciql", "crl"):
            for name, side in (("before", before), ("now", after)):
                told = {key: f"{value:.4g}" for key, value in side.ask("export", learner).items()}
                yield f"{learner}, exported {name}: " + ", ".join(
                    f"{key} {value}" for key, value in told.items()
                )
            yield _median(f"{learner}, one action exported", _turns(before, after, "act", learner))
            if learner != "gcbc":
                ratios = _turns(before, after, "distance", learner)
                yield _median(f"{learner}, one distance", ratios)


def _counting(*trees: Path) -> Iterator[str]:
    with _sides(*trees) as sides:
        for name, side in zip(("before", "now"), sides, strict=True):
            costs = [side.ask("count") / side.ask("policy") for _ in range(15)]
            yield f"counting an action {name}, of an action: {100 * median(costs):.2f} %"


def _turns(before: Side, after: Side, *words: object, turns: int = 21) -> list[float]:
    """The ratios of two times; each begins half of the turns."""
    for side in (before, after):
        side.ask(*words)
        side.ask(*words)
    ratios = list[float]()
    for turn in range(turns):
        order = (before, after) if turn % 2 else (after, before)
        seconds = {side: side.ask(*words) for side in order}
        ratios.append(seconds[after] / seconds[before])
    return ratios


def _median(what: str, ratios: list[float]) -> str:
    ratios, quarter = sorted(ratios), len(ratios) // 4
    spread = f"{ratios[quarter]:.3f} to {ratios[-1 - quarter]:.3f}"
    return f"{what}: {median(ratios):.3f} (half of the turns: {spread})"


def _kept() -> Iterator[str]:
    torch.set_num_threads(1)
    x, w, b = torch.randn(2, 1024, WIDTH), torch.randn(2, 1, WIDTH), torch.zeros(2, 1, 1)
    product = _forward_and_back(lambda x, w: torch.baddbmm(b, x, w.mT), x, w)
    dot = _forward_and_back(lambda x, w: torch.linalg.vecdot(x, w)[..., None] + b, x, w)
    yield _beside("one output of two networks: batched product by dot product", product, dot)
    phi, psi = torch.randn(2, 2, 8192, WIDTH)
    ours, plain = _contrasts(phi, psi)
    # Ours comes first, before anything large was computed, because the peak only rises.
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
    """CRL's loss in plain operations, differentiated by autograd."""
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


PARTS = {
    "steps": _steps,
    "faults": _faults,
    "exports": _exports,
    "counting": _counting,
    "kept": _kept,
}

if __name__ == "__main__":
    main(sys.argv[1:])
