"""Judge a trained run from its own data, without a simulator.

Each question is checked four ways. Does the data support it? Does the policy act like the held-out
data? Does it predict the distance well? How does it behave? See docs/check.md.
"""

from goalsets.check.found import Check, Checked
from goalsets.check.questions import Question, every_question, make_question, suite_questions
from goalsets.check.run import check_run
from goalsets.check.verdict import Thresholds, Verdict

__all__ = [
    "Check",
    "Checked",
    "Question",
    "Thresholds",
    "Verdict",
    "check_run",
    "every_question",
    "make_question",
    "suite_questions",
]
