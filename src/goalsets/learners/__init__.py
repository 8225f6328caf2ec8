"""Learners: one algorithm, one file, each docstring its equations."""

from goalsets.learners.base import LEARNERS, TARGET, BatchTensors, GoalTensors, Learner, Problem
from goalsets.learners.crl import CRL
from goalsets.learners.gcbc import GCBC
from goalsets.learners.gcdl import GCDL
from goalsets.learners.gciql import GCIQL
from goalsets.learners.gcivl import GCIVL

__all__ = [
    "CRL",
    "GCBC",
    "GCDL",
    "GCIQL",
    "GCIVL",
    "LEARNERS",
    "TARGET",
    "BatchTensors",
    "GoalTensors",
    "Learner",
    "Problem",
]
