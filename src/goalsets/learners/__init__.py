"""Learners: one algorithm, one file, each docstring its equations. A file here is a learner."""

from goalsets.core.acting import STEPS
from goalsets.core.registry import import_modules
from goalsets.learners.base import LEARNERS, TARGET, Learner, ParameterGroup, Problem
from goalsets.relabel.batch import Batch, BatchSpec, Goals

import_modules(__name__)

DEFAULT = "gcbc"
"""The learner that is trained when nobody says which."""

__all__ = [
    "DEFAULT",
    "LEARNERS",
    "STEPS",
    "TARGET",
    "Batch",
    "BatchSpec",
    "Goals",
    "Learner",
    "ParameterGroup",
    "Problem",
]
