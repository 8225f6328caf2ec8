"""Fuzz some kinds of files in a process of its own, with little memory and little time.

    python -m tests.fuzz.child COUNT FIRST KIND...

prints a line of JSON for each kind. A change is decided by its kind and its number, so that one
that fails can be looked at alone: COUNT 1, FIRST its number.
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
from pathlib import Path

import numpy as np

from goalsets.core import GoalsetsError
from tests.fuzz.kinds import KINDS, Kind, changed

MEMORY = 2 << 30
"""Bytes of address space, with Python, torch and all libraries in it."""
SECONDS = 10
"""Of the processor, for one file."""


class TooSlowError(Exception):
    """A file that took too long."""


def main(count: int, first: int, names: list[str]) -> None:
    """Fuzz kinds and print what came of it."""
    logging.disable(logging.CRITICAL)  # notes on files without a digest
    signal.signal(signal.SIGPROF, _stop)
    with tempfile.TemporaryDirectory() as directory:
        for name in names:  # before the limit: making a good file may take more memory
            good = Path(directory) / name
            good.mkdir()
            KINDS[name].make(good)
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
        for name in names:
            found = fuzz(name, Path(directory) / name, range(first, first + count))
            print(json.dumps({"kind": name, **found}), flush=True)


def fuzz(name: str, good: Path, numbers: range) -> dict[str, object]:
    """Change files and read them; return how often each outcome came."""
    kind, place = KINDS[name], good.with_name("changed")
    outcomes = {"same": 0, "other": 0, "refused": 0}
    failures: list[str] = []
    slowest = 0.0
    shutil.copytree(good, place)
    wanted = kind.read(place)
    files = {path.relative_to(good): path.read_bytes() for path in sorted(good.glob(kind.file))}
    for number in numbers:
        rng = np.random.default_rng([zlib.crc32(name.encode()), number])
        target, whole = list(files.items())[rng.integers(len(files))]
        data = whole
        with contextlib.suppress(ValueError, TypeError, OverflowError, RecursionError):
            data = changed(data, kind, rng)  # not every change can be written down
        (place / target).write_bytes(data)
        print(f"{name} {number}", file=sys.stderr, flush=True)
        outcome, seconds = _outcome(kind, place, wanted)
        (place / target).write_bytes(whole)
        slowest = max(slowest, seconds)
        if outcome in outcomes:
            outcomes[outcome] += 1
        else:
            failures.append(f"{number}: {outcome}")
    shutil.rmtree(place)
    return {**outcomes, "slowest": round(slowest, 2), "failures": failures[:20]}


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


def _stop(*_: object) -> None:
    raise TooSlowError(f"a file took more than {SECONDS} seconds")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
