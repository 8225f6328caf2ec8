"""Reports: the paper's tables and figures from run directories, beside the published numbers.

Nothing here trains or rolls out. Everything is read from the records of runs; only value landscapes
are computed from weights. A cell without runs says "missing".
"""

from goalsets.report.write import Options, write_report

__all__ = ["Options", "write_report"]
