"""Disturb goalsets for a while, and check that nothing is lost, repeated, changed or stuck.

    python tools/chaos.py --minutes 60

Trains, imports, collects, asks suites, sweeps, reports and serves on small data, in rounds. Each
round strikes one of them at a random moment: it kills the command, its children, a Ray worker or a
node; fills the disk; makes the place read-only; changes or deletes data; puts clocks wrong; starts
the same command twice. Then it lets the command finish, and compares with what it makes when
nobody disturbs it: equal bits, no run lost or repeated, no stray file, no process left.

Prints its seed, one line a round and the counts. The same seed chooses the same rounds and moments;
what happens to be under way at a moment is up to the machine. Full disks and read-only places are
small tmpfs mounts where mounting is allowed (root), else RLIMIT_FSIZE and the directory's mode.
A broken promise keeps its directory, and makes the exit code 1.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from chaos_trials import TRIALS
from chaos_world import BrokenError, World, make_reference


def main() -> int:
    """Run rounds until the time is up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0, help="how long; no round is cut")
    parser.add_argument("--seed", type=int, default=None, help="drawn and printed unless given")
    parser.add_argument("--only", nargs="*", choices=list(TRIALS), help="only these trials")
    parser.add_argument("--place", type=Path, default=None, help="where; a temporary directory")
    parser.add_argument("--reference", type=Path, help="that of an earlier call, to save its time")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    place = Path(tempfile.mkdtemp(prefix="goalsets-chaos-", dir=options.place))
    print(f"seed {seed}, in {place}", flush=True)
    start = time.monotonic()
    reference = options.reference or place / "reference"
    if options.reference is None:
        make_reference(reference, random.Random(seed))
    names = options.only or [name for name in TRIALS for _ in range(TRIALS[name][1])]
    rounds: Counter[str] = Counter()
    broken: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    order = random.Random(seed)
    bag: list[str] = []
    while time.monotonic() - start < 60 * options.minutes:
        if not bag:  # all of them come, in another order each time
            bag = order.sample(names, len(names))
        name, number = bag.pop(), sum(rounds.values())
        rounds[name] += 1
        broken[name] += _round(name, number, seed, place / f"round-{number}", reference, counts)
    _tell(rounds, broken, counts, time.monotonic() - start)
    if not sum(broken.values()):
        shutil.rmtree(place)
    return int(bool(sum(broken.values())))


def _round(
    name: str, number: int, seed: int, own: Path, reference: Path, counts: Counter[str]
) -> bool:
    """Run one trial; returns whether a promise was broken."""
    own.mkdir()
    world = World(own, reference, random.Random(f"{seed} {number}"), counts)
    start, trouble = time.monotonic(), ""
    try:
        TRIALS[name][0](world)
        world.check_processes()
    except BrokenError as error:
        trouble = f"BROKEN: {error}"
    except Exception:
        trouble = f"BROKEN: {traceback.format_exc()}"
    spent = time.monotonic() - start
    print(f"round {number}: {name}, {spent:.0f} s {trouble or 'fine'}", flush=True)
    if not trouble:
        shutil.rmtree(own, ignore_errors=True)
    return bool(trouble)


def _tell(rounds: Counter[str], broken: Counter[str], counts: Counter[str], seconds: float) -> None:
    print(f"\n{sum(rounds.values())} rounds in {seconds / 60:.0f} minutes:")
    for name, count in rounds.most_common():
        print(f"  {name}: {count}{f', {broken[name]} BROKEN' if broken[name] else ''}")
    print("what was done:")
    for name, count in counts.most_common():
        print(f"  {name}: {count}")
    total = sum(broken.values())
    print(f"{total} broken promises" if total else "all promises held")


if __name__ == "__main__":
    sys.exit(main())
