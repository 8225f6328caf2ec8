"""Time to success for us and our peers, side by side: `python -m benchmarks.peers`.

Each contestant trains on the same data, in a separate process, with one thread on one core. After
5 seconds of training, and then after each further quarter, our rollout runs its policy on the same
official episodes. A contestant ends at its budget, at the last step of its schedule, or when it has
reached 95 % in every way that it is asked. Only preparation and gradient steps count as training:
processor time, so that other work on the machine does not show in it.

Each finished contestant appends one line to results/peers/TASK.jsonl. A contestant with a record on
the same data is not run again, so you can stop the script and start it again. At the end it writes
the table in docs/results.md.

The peers are not part of goalsets. Fetch them, and name their directories:

  git clone https://github.com/cvg25/gs_her
  git clone https://github.com/seohongpark/ogbench
  export GOALSETS_RELEASED=$PWD/gs_her GOALSETS_OGBENCH_IMPLS=$PWD/ogbench/impls

OGBench's agents need JAX, Flax, Distrax, Optax and ml_collections. Install them beside the
environment and not in it (docs/results.md has the command), and put that directory on PYTHONPATH.
A peer that is not here is left out with a sentence.

Data comes from `goalsets data collect TASK`. With two cores, run two tasks at once:

  python -m benchmarks.peers --list
  python -m benchmarks.peers cube-single-noisy-v0 pointmaze-medium-navigate-v0 --core 0
  python -m benchmarks.peers cube-double-play-v0 --core 1
  python -m benchmarks.peers --only "ours*" --minutes 5
  python -m benchmarks.peers --table
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers_entries import ENTRIES, TASKS, Entry, absent, chosen, code_of
from goalsets.campaign import peers as records
from goalsets.core import GoalsetsError

ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
    # The number of threads that XLA believes it may use, and those of one operation.
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
"""Variables that limit every library to one thread."""


def main(words: Sequence[str] | None = None) -> int:
    """Run the contestants without a record, and write the table; 1 if one of them failed."""
    asked = _read(words)
    if asked.child:
        run_one(next(e for e in chosen(asked.tasks, []) if e.name == asked.child), asked)
        return 0
    if asked.table:
        records.write()
        return 0
    entries = chosen(asked.tasks, asked.only)
    for sentence in dict.fromkeys(filter(None, (absent(entry.kind) for entry in entries))):
        print(sentence)
    here = [entry for entry in entries if absent(entry.kind) is None]
    todo = [entry for entry in here if not is_recorded(entry, asked)]
    if asked.list:
        _show(here, todo, asked)
        return 0
    failed = [entry for entry in todo if not _run_apart(entry, asked)]
    for entry in failed:
        print(f"{entry.name} on {entry.task} failed: see the error above. It has no record.")
    if asked.output == records.RECORDS:
        records.write()
    else:
        print(records.table(records.read_records(asked.output)))
    return 1 if failed else 0


def run_one(entry: Entry, asked: argparse.Namespace) -> None:
    """Run a contestant in this process, and append its record."""
    if hasattr(os, "sched_setaffinity"):  # JAX starts more threads than it is told
        core = min(os.sched_getaffinity(0)) if asked.core is None else asked.core
        os.sched_setaffinity(0, {core})
    import torch

    from benchmarks.peers_race import OfficialJudge, Race, add_record
    from benchmarks.peers_theirs import make_contestant
    from goalsets.collect.find import find_store

    torch.set_num_threads(1)
    print(f"{entry.name} on {entry.task}, up to {_budget(entry, asked) / 60:g} minutes", flush=True)
    contestant = make_contestant(entry, find_store(entry.task), asked.seed)
    judge = OfficialJudge(entry.task, asked.episodes)
    found = Race(contestant, judge, _budget(entry, asked), say=_say).run()
    print(f"  it ended at its {found['ended']}", flush=True)
    add_record(_file(entry, asked), {**about(entry, asked), **found})


def about(entry: Entry, asked: argparse.Namespace) -> dict[str, Any]:
    """The fields of a record beside the curve."""
    from goalsets.collect.find import find_store

    store = find_store(entry.task)
    return {
        "task": entry.task,
        "contestant": entry.name,
        "kind": entry.kind,
        "learner": entry.learner,
        "settings": dict(entry.settings),
        "settings_from": entry.source,
        "seed": asked.seed,
        "data": {"fingerprint": store.fingerprint, "episodes": store.train.num_episodes},
        "episodes": asked.episodes,
        "budget_seconds": _budget(entry, asked),
        "code": code_of(entry.kind),
        "machine": f"{platform.machine()}, Python {platform.python_version()}, one thread",
        "versions": {name: _version(name) for name in ("torch", "jax", "ogbench")},
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def is_recorded(entry: Entry, asked: argparse.Namespace) -> bool:
    """Whether a contestant has a record that a new run would only repeat."""
    ours = about(entry, asked)
    return any(
        records.is_same_run(record, ours) and records.is_long_enough(record, ours["budget_seconds"])
        for record in records.read_records(asked.output)
    )


def _run_apart(entry: Entry, asked: argparse.Namespace) -> bool:
    """Run a contestant in a separate process; return whether it ended well."""
    command = [sys.executable, "-m", "benchmarks.peers", entry.task, "--child", entry.name]
    command += ["--seed", str(asked.seed), "--episodes", str(asked.episodes)]
    command += ["--output", str(asked.output)]
    for name in ("core", "minutes"):
        if getattr(asked, name) is not None:
            command += [f"--{name}", str(getattr(asked, name))]
    ended = subprocess.run(command, env={**os.environ, **ONE_THREAD}, check=False)
    return ended.returncode == 0


def _show(here: Sequence[Entry], todo: Sequence[Entry], asked: argparse.Namespace) -> None:
    """Print the contestants that can take part, and what is left to do."""
    for entry in here:
        state = f"up to {_budget(entry, asked) / 60:g} minutes" if entry in todo else "recorded"
        print(f"{entry.task:30}{entry.name:32}{state}")
    most = sum(_budget(entry, asked) for entry in todo) / 3600
    print(f"{len(todo)} to run: up to {most:.1f} hours of one core, and the evaluations")


def _budget(entry: Entry, asked: argparse.Namespace) -> float:
    """Processor seconds."""
    return 60 * (entry.minutes if asked.minutes is None else asked.minutes)


def _file(entry: Entry, asked: argparse.Namespace) -> Path:
    return asked.output / f"{entry.task}.jsonl"


def _say(line: str) -> None:
    print(line, flush=True)


def _read(words: Sequence[str] | None) -> argparse.Namespace:
    names = sorted({entry.name for entry in ENTRIES})
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="contestants:\n" + "\n".join(f"  {name}" for name in names),
    )
    add = parser.add_argument
    add("tasks", nargs="*", metavar="TASK", help=f"by default {', '.join(TASKS)}")
    add("--only", nargs="+", default=[], help='names of contestants: "ours*" "released gcdl*"')
    add("--minutes", type=float, help="the budget of every contestant; by default its own")
    add("--episodes", type=int, default=10, help="episodes of each official goal (%(default)s)")
    add("--seed", type=int, default=0, help="the seed of all contestants (%(default)s)")
    add("--core", type=int, help="the core to keep contestants on; by default the first")
    add("--output", type=Path, default=records.RECORDS, help="the records (%(default)s)")
    add("--list", action="store_true", help="show the contestants and their budgets; run nothing")
    add("--table", action="store_true", help="write the table from the records; run nothing")
    add("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args(words)
    for task in asked.tasks:
        if task not in TASKS:
            parser.error(f"there is no comparison on {task!r}; the tasks are {', '.join(TASKS)}")
    return asked


if __name__ == "__main__":
    try:
        sys.exit(main())
    except GoalsetsError as error:
        sys.exit(f"error: {error}")
