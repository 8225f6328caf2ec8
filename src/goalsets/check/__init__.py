"""Is it any good? A trained run, checked on its own data, without a simulator.

For each question: can it be asked, does the policy act as the data does, does it know how far it
is, and what would it do? See docs/check.md.
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
