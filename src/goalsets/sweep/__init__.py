"""Sweeps: train and evaluate a grid of configurations.

Each configuration becomes an ordinary run directory, with a name that the configuration determines,
and with a small status file. An *engine* runs them in local processes or on a Ray cluster. All
state is in those files, so the sweep can be stopped and continued at any time.
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
