"""The result of a check: for the run, and for each question."""

from __future__ import annotations

from dataclasses import dataclass

from goalsets.check.behaviour import Behaviour
from goalsets.check.distance import Distances
from goalsets.check.imitation import Imitation, Still
from goalsets.check.support import Support
from goalsets.check.verdict import Thresholds, Verdict


@dataclass(frozen=True)
class Checked:
    """The result for one question."""

    name: str
    query: str
    note: str
    """Assumptions, such as a tolerance that nobody gave."""
    rows: int
    """How many held-out rows it was asked at."""
    support: Support
    imitation: Imitation | None
    distances: Distances | None
    behaviour: Behaviour | None
    verdict: Verdict


@dataclass(frozen=True)
class Check:
    """The result for a run."""

    run: str
    task: str
    learner: str
    scheme: str
    step: int
    data: str
    """Where the data came from."""
    train_episodes: int
    train_states: int
    """How many of the states were examined."""
    held_out_episodes: int
    held_out: bool
    """Whether there are held-out episodes; if not, training episodes were used."""
    still: Still
    """Which action holds the robot still."""
    rate: float | None
    """Control steps a second, if known."""
    actions: tuple[str, ...]
    """Names of the components of actions."""
    notes: tuple[str, ...]
    thresholds: Thresholds
    seconds: float
    questions: tuple[Checked, ...]
