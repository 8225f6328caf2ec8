"""Suites: one model, many goals, on a fixed list of episodes that every run is given.

A *description* (YAML) says which predicates there are and where their references come from; the
shipped ones stand beside this file. *Building* draws the references once, from held-out data, and
writes a *suite*: one file with every episode, which *runs* of its task answer.
"""

from goalsets.evaluate.suites.build import build_suite
from goalsets.evaluate.suites.description import (
    Description,
    Predicate,
    read_description,
    shipped_description,
)
from goalsets.evaluate.suites.run import run_suite
from goalsets.evaluate.suites.suite import Suite, SuiteError

__all__ = [
    "Description",
    "Predicate",
    "Suite",
    "SuiteError",
    "build_suite",
    "read_description",
    "run_suite",
    "shipped_description",
]
