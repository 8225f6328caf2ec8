"""Looking at data: what a set holds of each group, and what is suspicious about it."""

from goalsets.data.inspect.measure import GroupView, Histogram, Inspection, inspect_store
from goalsets.data.inspect.page import write_page

__all__ = ["GroupView", "Histogram", "Inspection", "inspect_store", "write_page"]
