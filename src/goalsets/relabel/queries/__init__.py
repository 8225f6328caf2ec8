"""Query distributions: they draw the queries of relabeled goals. Each is one file."""

from goalsets.core.registry import import_modules
from goalsets.relabel.queries.base import (
    QUERY_DISTRIBUTIONS,
    SCHEMES,
    Masks,
    QueryDistribution,
    Scheme,
    Weights,
    random_subsets,
)
from goalsets.relabel.queries.blockwise import Blockwise
from goalsets.relabel.queries.direct import Direct
from goalsets.relabel.queries.full import Full
from goalsets.relabel.queries.mixture import Mixture
from goalsets.relabel.queries.semantic import Semantic
from goalsets.relabel.queries.task import Task
from goalsets.relabel.queries.uniform import Uniform

import_modules(__name__)

DEFAULT_SCHEME = "gs-blockwise"
"""The scheme that is trained by default: the paper's."""

__all__ = [
    "DEFAULT_SCHEME",
    "QUERY_DISTRIBUTIONS",
    "SCHEMES",
    "Blockwise",
    "Direct",
    "Full",
    "Masks",
    "Mixture",
    "QueryDistribution",
    "Scheme",
    "Semantic",
    "Task",
    "Uniform",
    "Weights",
    "random_subsets",
]
