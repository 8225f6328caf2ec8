"""Sweeps: many runs, none repeated and none lost.

A *sweep* is a grid of configurations. Each becomes an ordinary run directory with a name that its
configuration decides, and a small status file in it; an *engine* runs them in local processes
or on a Ray cluster. All state is in those files: whoever starts the sweep again continues it.
"""

from goalsets.sweep.drive import Summary, run_sweep
from goalsets.sweep.files import read_sweep, shipped_sweeps
from goalsets.sweep.grid import Job, Sweep, SweepError
from goalsets.sweep.survey import Survey, survey

__all__ = [
    "Job",
    "Summary",
    "Survey",
    "Sweep",
    "SweepError",
    "read_sweep",
    "run_sweep",
    "shipped_sweeps",
    "survey",
]
