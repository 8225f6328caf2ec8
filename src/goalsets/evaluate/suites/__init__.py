"""Suites: many questions to one model, on a fixed list of episodes, the same for every run.

A *description* (YAML) lists the predicates and how to draw their references; the shipped ones are
beside this file. *Building* draws the references once, from held-out data, and writes a *suite*:
one file with every episode. All runs of its task can be asked.
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
