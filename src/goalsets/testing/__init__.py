"""What every extension must keep to, as checks for tests: here, and in the package of a plugin.

Each raises an `AssertionError` whose sentence says what was expected, and what came. A task has a
check of its own, `goalsets.check_task`.
"""

from goalsets.testing.learners import check_learner
from goalsets.testing.queries import check_query_distribution
from goalsets.testing.sources import check_source

__all__ = ["check_learner", "check_query_distribution", "check_source"]
