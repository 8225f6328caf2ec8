"""Fuzz kinds of files for as long as it takes.

    python -m tests.fuzz                                every kind, 20,000 changes of each
    python -m tests.fuzz weights sweep --count 300      some kinds
    python -m tests.fuzz weights --first 4711 --count 1 a single change

Each kind has a process of its own. Ctrl-C ends it after the present file; the table then has the
counts up to there. The exit code is 1 if an outcome was a failure, and 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from typing import Any

from tests.fuzz.kinds import KINDS
from tests.fuzz.parent import Child, CrashError

COLUMNS = ("done", "same", "other", "refused", "failures", "slowest", "seconds")


def main(words: list[str]) -> int:
    """Fuzz kinds, print progress and a table, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"among {', '.join(KINDS)}")
    parser.add_argument("--count", type=int, default=20_000, help="changes of each kind")
    parser.add_argument("--seed", type=int, default=0, help="with another seed, other changes")
    parser.add_argument("--first", type=int, default=0, help="the number of the first change")
    asked = parser.parse_args(words)
    if unknown := [kind for kind in asked.kinds if kind not in KINDS]:
        parser.error(f"there is no kind {unknown[0]!r}; there are: {', '.join(KINDS)}")
    return Fuzzing(asked.count, asked.first, asked.seed).run(asked.kinds or list(KINDS))


class Fuzzing:
    """Kinds that are fuzzed one after another, until somebody asks for the end."""

    def __init__(self, count: int, first: int, seed: int) -> None:
        self._count, self._first, self._seed = count, first, seed
        self._stopped = False
        self._child: Child | None = None

    def run(self, kinds: list[str]) -> int:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        print(f"{self._count:,} changes of each of {len(kinds)} kinds, seed {self._seed}")
        print(_row(("kind", *COLUMNS)), flush=True)
        good = [self._fuzz(kind) for kind in kinds if not self._stopped]
        if self._stopped:
            print(f"stopped: {len(kinds) - len(good)} of {len(kinds)} kinds were not begun")
            return 130
        return 0 if all(good) else 1

    def _fuzz(self, kind: str) -> bool:
        """Fuzz a kind; return whether every outcome was a good one."""
        begun, found = time.monotonic(), dict[str, Any]()
        try:
            with Child([kind], self._count, first=self._first, seed=self._seed) as self._child:
                for found in self._child.reports():
                    if not found["ended"]:
                        left = (self._count / found["done"] - 1) * (time.monotonic() - begun)
                        print(f"{_told(found)}  {left / 60:.0f} min left", flush=True)
        except CrashError as error:
            # A process that is stopped before its first change has nothing to report.
            print(f"{kind}: stopped" if self._stopped else f"{kind}: {error}", flush=True)
            return False
        print(_told(found), flush=True)
        again = f"python -m tests.fuzz {kind} --seed {self._seed} --count 1 --first"
        for failure in found["failures"]:
            number, _, said = failure.partition(": ")
            print(f"{again} {number}\n{said}", flush=True)
        return not found["failures"]

    def _stop(self, *_: object) -> None:
        self._stopped = True
        if self._child is not None:
            self._child.stop()


def _told(found: dict[str, Any]) -> str:
    counted = {**found, "failures": len(found["failures"])}
    return _row((found["kind"], *(counted[column] for column in COLUMNS)))


def _row(entries: tuple[Any, ...]) -> str:
    return f"{entries[0]:<18}" + "".join(f"{entry:>10}" for entry in entries[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
