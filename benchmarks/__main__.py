"""Print the table: `python -m benchmarks`, or with the names of some parts."""

from __future__ import annotations

import importlib
import os
import platform
import sys

# One thread: the figures are for a core, and BLAS must not borrow another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.line import Line

PARTS = ("queries", "tabletop", "store", "arrivals", "collect", "learners", "rollout")
PARTS += ("precision", "plan", "prices", "sweep", "export", "files", "serve", "storm", "play")


def main(names: list[str]) -> int:
    """Measure the named parts, or all, and return 1 if a target is missed."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"unknown part {unknown[0]!r}; there are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    print(f"python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    print(f"{'what':<52} {'measured':>10} {'target':>10}  unit")
    missed = 0
    for name in names or PARTS:
        for line in importlib.import_module(f"benchmarks.{name}").lines():
            print(_row(line), flush=True)
            missed += line.verdict == "MISSED"
    print("all targets met" if not missed else f"{missed} target(s) missed")
    return 1 if missed else 0


def _row(line: Line) -> str:
    bound = "<=" if line.at_most else ">="
    target = "" if line.target is None else f"{bound} {line.target:g}"
    return f"{line.what:<52} {line.measured:>10.3g} {target:>10}  {line.unit:<12} {line.verdict}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
