"""Rules for plain English, as checks of proselint: one message each, which says what to write.

A rule looks at one sentence at a time. Few rules, and precise ones: a rule that is often wrong is
switched off by its readers. docs/style.md explains how we write; tests/docs/test_prose.py has a bad
and a good sentence for each rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from proselint.registry.checks import Check, CheckResult

MOST_WORDS = 35
"""The longest sentence, in words. Numbers do not count."""
MOST_PASSIVES = 3
"""A sentence with more passive verbs hides who does what."""

GAP = "\x1f"
"""Separates two pieces of prose that are no sentence together, such as the cells of a table."""

# A piece of prose ends at a gap or an empty line. A sentence ends at a full stop or with its piece.
_PIECE = re.compile(rf"(?:(?!\n[ \t]*\n)[^{GAP}])+")
_SENTENCE = re.compile(r"\S(?:[^.!?]|[.!?](?=\S))*[.!?]?")
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*)")
_PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)(?:\s+(?:not|never|then|also|only|always|already))?\s+"
    r"(?:\w{2,}ed|given|taken|drawn|known|shown|made|kept|held|told|said|written|chosen|left|found"
    r"|put|read|run|seen|sent|set|lost|built|brought|done)\b"
)
_ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|et al|Fig|Dr|Mr|no)\.$")


@dataclass(frozen=True)
class Rule:
    """One thing not to write."""

    name: str
    message: str
    """Says what to write instead."""
    find: Callable[[str], tuple[int, int] | None]
    """Returns the part of a sentence that breaks the rule."""

    def check(self, text: str, check: Check) -> Iterator[CheckResult]:
        """Look at every sentence, in the way that proselint calls."""
        for start, sentence in sentences(text):
            if found := self.find(sentence):
                span = (start + found[0], start + found[1])
                yield CheckResult(check.path, check.message, span, None)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a text, each with the place where it begins."""
    for piece in _PIECE.finditer(text):
        start = None
        for found in _SENTENCE.finditer(piece[0]):
            start = found.start() if start is None else start
            sentence = piece[0][start : found.end()].rstrip()
            if not _ABBREVIATED.search(sentence) or found.end() == len(piece[0]):
                yield piece.start() + start, sentence
                start = None


def pattern(words: str, *, ends: str = "") -> Callable[[str], tuple[int, int] | None]:
    """Find a regular expression in a sentence; a space stands for any space.

    Args:
        words: The expression.
        ends: If given, only sentences that end with one of these characters.
    """
    compiled = re.compile(words.replace(" ", r"\s+"), re.IGNORECASE)

    def find(sentence: str) -> tuple[int, int] | None:
        found = compiled.search(sentence)
        return found.span() if found and (not ends or sentence[-1] in ends) else None

    return find


def too_long(sentence: str) -> tuple[int, int] | None:
    """Find a sentence with too many words."""
    words = _WORD.findall(sentence)
    return (0, len(sentence)) if len(words) > MOST_WORDS else None


def too_passive(sentence: str) -> tuple[int, int] | None:
    """Find a sentence with too many passive verbs."""
    found = list(_PASSIVE.finditer(sentence))
    return (found[0].start(), found[-1].end()) if len(found) > MOST_PASSIVES else None


_NEGATED = r"(?:not|never|no|nobody|nothing|cannot|n't)"
_PREPOSITION = r"(?:about|at|by|for|from|in|of|on|to|with)"

RULES = (
    Rule(
        "long",
        f"This sentence has more than {MOST_WORDS} words: write two sentences.",
        too_long,
    ),
    Rule(
        "passive",
        f"This sentence has more than {MOST_PASSIVES} passive verbs: say who does what.",
        too_passive,
    ),
    Rule(
        "repeated",
        "This word stands twice: delete one.",
        pattern(r"\b(?!x+\b)([a-z]{2,}) \1\b"),
    ),
    Rule(
        "archaic",
        "This word is archaic: write 'again', 'of it', 'in which', 'so' or 'until now'.",
        pattern(
            r"\b(?:anew|albeit|amidst|ere|forthwith|hence|henceforth|hereby|herein|heretofore"
            r"|hitherto|lest|nigh|thence|thereby|therein|thereof|thereupon|thither|unto|upon"
            r"|whence|whereby|wherein|whereof|whereupon|whilst|wherewith|wont to)\b"
        ),
    ),
    Rule(
        "what-subject",
        "Name the thing: write 'The runs that ...' instead of 'What ...'.",
        pattern(r"^\W*what(?:ever)? (?!if\b)", ends=".:;"),
    ),
    Rule(
        "same-again",
        "This says the same word twice: say what happens to the thing.",
        pattern(
            r"\b(?:what|who) (?:is|was|are) (?:\w+ )?(\w{4,}) (?:\w+ )?(?:stays?|remains?|is) \1\b"
        ),
    ),
    Rule(
        "where-if",
        "Write 'If' for a condition; 'where' is for places.",
        pattern(r"^\W*where\b[^,?]*,", ends=".:;"),
    ),
    Rule(
        "whatever",
        "Write 'any', 'every' or 'for all', and name the thing.",
        pattern(r"\b(?:whatever|whichever|whoever|wherever|however (?:many|much|large|small))\b"),
    ),
    Rule(
        "who-clause",
        "Write 'anyone who ...' or 'if you ...'.",
        pattern(
            r"(?:^\W*|[:;] )who (?:asks?|can|needs?|wants?)\b(?!.*\?$)"
            r"|\bnobody \w+ (?:\w+ ){0,4}who\b"
        ),
    ),
    Rule(
        "of-inversion",
        "Begin with the subject: 'The report shows the mean over several seeds'.",
        pattern(r"^\W*of (?:all|a|an|each|several|the|these|those|two|three|many)\b"),
    ),
    Rule(
        "stands-inversion",
        "Begin with the subject, then the verb.",
        pattern(
            r"^\W*(?:so|in|on|at|under|below|above|beside) (?:\w+ ){1,3}?"
            r"(?:stands?|lies?|sits?) (?:the|a|an)\b"
        ),
    ),
    Rule(
        "whose-tangle",
        "Write two sentences instead of a preposition with 'whose'.",
        pattern(rf"\b{_PREPOSITION} whose\b"),
    ),
    Rule(
        "stranded",
        "The preposition has lost its noun: write 'the goal set that is near the state'.",
        pattern(
            r"\b(?:away from|asked for|asked of|looked for|made of|told of|made from|sent to)"
            r" (?:is|are|was|were|has|have|must|can)\b"
        ),
    ),
    Rule(
        "to-be-done",
        "Say who does it: 'you can correct it', 'we have not run it yet'.",
        pattern(
            r"\b(?:stays?|remains?|(?:is|are|was|were) yet|(?:is|are) still) to be \w+(?:ed|n|t)\b"
        ),
    ),
    Rule(
        "double-negative",
        "Say it without the second negation.",
        pattern(
            rf"\b{_NEGATED}\b(?:(?! (?:and|or|but|so|because|if|when|that|which) )"
            r"[^.,;:()\"“”—]){1,45}?"
            r"\b(?:not|never|nobody|nothing|cannot|without)\b"
        ),
    ),
    Rule(
        "person",
        "Programs do not speak, hear or want: write 'print', 'get', 'use', 'need' or 'stop'.",
        pattern(
            r"\b(?:puts? down (?:its|their) work|hears? (?:an?|no|the) (?:answer|quer|question)"
            r"|hears? queries|speaks? (?:HTTP|TLS|ONNX|WebSocket)|(?:is|are) told of"
            r"|(?:is|are) (?:said|told)(?: at once| so| when|[.,;])|(?:noisy|clean) data wants)"
        ),
    ),
    Rule(
        "idiom",
        "Write the plain word: 'available', 'overfits', 'instead of', 'unencrypted', 'one by one'.",
        pattern(
            r"\b(?:at hand|by heart|in the clear|in place of|on the spot|for want of|in a screenful"
            r"|a hair (?:beside|off)|no blemish|out of hand|under way|(?:is|are) gone then)\b"
        ),
    ),
    Rule(
        "of-its-own",
        "Write 'its own process' or 'a separate process'.",
        # "of its own kind" is plain; "a file of its own" is not.
        pattern(
            r"\bof (?:its|their|one's|his|her) own"
            r"(?=\W*$|[^\w\s]| (?:and|are|as|at|by|for|from|has|in|is|on|or|that|to|when|which)\b)"
        ),
    ),
)

PATH = "plain"
"""The prefix of our rules among proselint's checks."""


def checks() -> tuple[Check, ...]:
    """Return the rules as checks of proselint."""
    return tuple(
        Check(check_type=rule.check, path=f"{PATH}.{rule.name}", message=rule.message)
        for rule in RULES
    )
