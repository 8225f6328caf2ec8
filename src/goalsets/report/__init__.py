"""Reports: the paper's tables and figures from run directories, beside the published numbers.

Nothing here trains or rolls out. What a run did is read from its records; the only thing computed
from weights is a value landscape. What is missing is shown as missing.
"""

from goalsets.report.write import Options, write_report

__all__ = ["Options", "write_report"]
