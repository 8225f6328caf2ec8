"""Learners: each file is one algorithm, and its docstring has the equations."""

from goalsets.core.acting import STEPS
from goalsets.core.registry import import_modules
from goalsets.learners.base import LEARNERS, TARGET, Learner, ParameterGroup, Problem
from goalsets.learners.settings import Settings
from goalsets.relabel.batch import Batch, BatchSpec, Goals

import_modules(__name__)

DEFAULT = "gcbc"
"""The learner that is trained by default."""

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
    "Settings",
]
