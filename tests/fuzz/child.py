"""Fuzz some kinds of files in a process of its own, with little memory and little time.

    python -m tests.fuzz.child COUNT FIRST SEED KIND...

prints a line of JSON for each kind, and one every few seconds before it ends. The seed, the kind
and its number decide a change, so that one that fails can be looked at alone: COUNT 1, FIRST its
number. SIGINT and SIGTERM end it after the present file, with the counts up to there.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from goalsets.core import GoalsetsError
from tests.fuzz.kinds import KINDS, Kind, changed

MEMORY = 2 << 30
"""Bytes of address space, with Python, torch and all libraries in it."""
SECONDS = 10
"""Of the processor, for one file."""
EVERY = 5.0
"""Seconds between two reports on a kind."""


class TooSlowError(Exception):
    """A file that took too long."""


@dataclass
class Found:
    """What came of the changes of a kind."""

    kind: str
    done: int = 0
    same: int = 0
    other: int = 0
    refused: int = 0
    slowest: float = 0.0
    seconds: float = 0.0
    """Of the processor, for all changes."""
    failures: list[str] = field(default_factory=list[str])
    ended: bool = False

    def count(self, number: int, outcome: str, seconds: float, changed: Path) -> None:
        self.done += 1
        self.slowest = max(self.slowest, round(seconds, 2))
        if outcome in ("same", "other", "refused"):
            setattr(self, outcome, getattr(self, outcome) + 1)
        elif len(self.failures) < 20:
            kept = Path(tempfile.mkdtemp(prefix=f"fuzz-{self.kind}-{number}-")) / changed.name
            shutil.copyfile(changed, kept)  # some good files hold measured times
            self.failures.append(f"{number}: {kept}: {outcome}")

    def say(self) -> None:
        print(json.dumps(vars(self)), flush=True)


class Stop:
    """Whether somebody asked this process to end."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True


def main(numbers: range, seed: int, names: list[str]) -> None:
    """Fuzz kinds and print what came of it."""
    stop = Stop()
    logging.disable(logging.CRITICAL)  # notes on files without a digest
    signal.signal(signal.SIGPROF, _too_slow)
    with tempfile.TemporaryDirectory() as directory:
        for name in names:  # before the limit: making a good file may take more memory
            good = Path(directory) / name
            good.mkdir()
            KINDS[name].make(good)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
        for name in names:
            if not stop.asked:
                fuzz(name, Path(directory) / name, numbers, seed, stop)


def fuzz(name: str, good: Path, numbers: range, seed: int, stop: Stop) -> None:
    """Change files, read them, and count each outcome."""
    kind, place = KINDS[name], good.with_name("changed")
    found = Found(name)
    shutil.copytree(good, place)
    wanted = kind.read(place)
    files = {path.relative_to(good): path.read_bytes() for path in sorted(good.glob(kind.file))}
    begun, said = time.process_time(), time.monotonic()
    for number in numbers:
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
        target, whole = list(files.items())[rng.integers(len(files))]
        data = whole
        with contextlib.suppress(ValueError, TypeError, LookupError, OverflowError, RecursionError):
            data = changed(data, kind, rng)  # not every change can be written down
        (place / target).write_bytes(data)
        print(f"{name} {number}", file=sys.stderr, flush=True)  # the last line before a crash
        found.count(number, *_outcome(kind, place, wanted), place / target)
        (place / target).write_bytes(whole)
        found.seconds = round(time.process_time() - begun, 2)
        if stop.asked:
            break
        if time.monotonic() - said > EVERY:
            found.say()
            said = time.monotonic()
    shutil.rmtree(place)
    found.ended = True
    found.say()


def _outcome(kind: Kind, place: Path, wanted: object) -> tuple[str, float]:
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = kind.read(place)
    except GoalsetsError as error:
        outcome = "refused" if str(error).strip() else "an error without a word"
    except Exception:
        outcome = traceback.format_exc(limit=-4)
    else:
        outcome = "same" if found == wanted else "other"
        if outcome == "other" and kind.sealed:
            outcome = "a sealed file gave another answer"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return outcome, time.process_time() - start


def _too_slow(*_: object) -> None:
    raise TooSlowError(f"a file took more than {SECONDS} seconds")


if __name__ == "__main__":
    count, first, seed = map(int, sys.argv[1:4])
    main(range(first, first + count), seed, sys.argv[4:])
