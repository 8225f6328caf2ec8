"""Inspects data: figures for each group of the layout, and a list of suspicious things."""

from goalsets.data.inspect.measure import GroupView, Histogram, Inspection, inspect_store
from goalsets.data.inspect.page import write_page

__all__ = ["GroupView", "Histogram", "Inspection", "inspect_store", "write_page"]
