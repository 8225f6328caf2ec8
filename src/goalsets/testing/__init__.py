"""Checks of the contracts of extensions, for our tests and for the tests of plugins.

Each raises an `AssertionError` that says what was expected and what came. Tasks are checked by
`goalsets.check_task`.
"""

from goalsets.testing.learners import check_learner
from goalsets.testing.queries import check_query_distribution
from goalsets.testing.sources import check_source

__all__ = ["check_learner", "check_query_distribution", "check_source"]
