"""`goalsets sweep`: train and evaluate a grid of runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from goalsets.cli.counts import Count, OptionalCount
from goalsets.cli.printing import print_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from goalsets.sweep import Summary, Sweep
    from goalsets.sweep.engine import Engine


def sweep(  # noqa: PLR0913, PLR0917 - the flags of a command
    sweep: Annotated[str, tyro.conf.Positional] = "list",
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    engine: Literal["local", "ray"] = "local",
    threads: Count = 1,
    processes: OptionalCount = None,
    device: Literal["cpu", "cuda"] = "cpu",
    address: str | None = None,
    storage: Literal["auto", "shared", "collect"] = "auto",
    only: tuple[str, ...] = (),
    retry_failed: bool = False,
    seeds_together: bool = False,
    data_in: Literal["auto", "memory", "disk"] = "auto",
    dry_run: bool = False,
) -> None:
    """Train and evaluate a grid of runs, on this machine or on a Ray cluster.

    The configuration of a run determines its name, and all state is in the sweep's directory. So
    the same command continues a sweep that was stopped or killed. If you extend a sweep, only the
    new runs are trained. Ctrl-C saves checkpoints and stops. 'goalsets sweep status DIR' shows the
    progress. Without a name, the command lists the sweeps that come with goalsets.

    Args:
        sweep: A sweep that comes with goalsets, such as cpu-smoke or paper-main, or a YAML file.
        output: The sweep's directory; by default sweeps/NAME.
        engine: local uses processes of this machine, ray uses tasks of a Ray cluster.
        threads: Threads of each run.
        processes: Local: how many runs to train at a time; by default processors divided by
            threads, or with --device cuda one for each accelerator.
        device: Where runs train. With cuda, each run has its own accelerator.
        address: Ray: the cluster, such as auto; by default one is started on this machine.
        storage: Ray: whether the nodes share the sweep's directory, or their runs are copied back
            into it; by default each node checks.
        only: Only runs whose name matches a pattern, such as "*gciql*".
        retry_failed: Also run those again that failed.
        seeds_together: Train the seeds of a configuration in one process, with stacked parameters.
        data_in: Whether the data of a run is copied into memory or read from disk; auto decides by
            the free memory, divided by the number of runs at a time.
        dry_run: List the runs and their state, and start nothing.
    """
    from goalsets.cli.sweep_status import print_survey
    from goalsets.sweep import read_sweep, run_sweep, survey

    if sweep == "list":
        _list()
        return
    chosen = read_sweep(sweep)
    place = output or Path("sweeps") / chosen.name
    if dry_run:
        _print_runs(chosen, place, only)
        return
    from goalsets.cli.sweep_screen import SweepScreen

    with SweepScreen(chosen, place, only) as screen:
        summary = run_sweep(
            chosen,
            place,
            _engine(engine, threads, processes, device, address, storage, screen.say),
            only=only,
            retry_failed=retry_failed,
            seeds_together=seeds_together,
            data_in=data_in,
            watch=screen,
        )
    print_survey(survey(place), place)
    _close(summary, place)


def _engine(
    kind: str,
    threads: int,
    processes: int | None,
    device: Literal["cpu", "cuda"],
    address: str | None,
    storage: Literal["auto", "shared", "collect"],
    say: Callable[[str], None],
) -> Engine:
    from goalsets.sweep import SweepError

    if kind == "local":
        from goalsets.sweep.local import LocalEngine

        if address is not None or storage != "auto":
            raise SweepError("--address and --storage are only for --engine ray: add it.")
        return LocalEngine(threads, processes, device, say=say)
    from goalsets.sweep.ray import RayEngine

    if processes is not None:
        raise SweepError(
            "--processes is only for --engine local: leave it out, Ray uses the whole cluster."
        )
    return RayEngine(address, threads=threads, device=device, storage=storage, say=say)


def _list() -> None:
    from goalsets.sweep import shipped_sweeps

    rows = [
        (name, str(len(sweep.jobs())), sweep.preset, sweep.description)
        for name, sweep in shipped_sweeps().items()
    ]
    print_table(("sweep", "runs", "preset", "what it is"), rows)
    print("'goalsets sweep NAME' runs one; '--dry-run' lists its runs. Or write your own in YAML.")


def _print_runs(sweep: Sweep, place: Path, only: tuple[str, ...]) -> None:
    from goalsets.sweep import survey

    shown = survey(place, sweep, only).entries
    for entry in shown:
        print(f"{entry.standing:8} {entry.job.name}")
    todo = sum(entry.standing != "done" for entry in shown)
    print(f"{len(shown)} runs of {sweep.name}, {todo} to do, in {place}")


def _close(summary: Summary, place: Path) -> None:
    """Say what to do next, and exit with a code that scripts can read."""
    if summary.complete:
        print(f"next: goalsets report {place}")
        return
    if summary.left:
        print("stopped: run the same command again to continue.", file=sys.stderr)
    if summary.failed:
        print(
            f"{summary.failed} failed: see the run.log of each; --retry-failed runs them again.",
            file=sys.stderr,
        )
    raise SystemExit(130 if summary.left else 1)
