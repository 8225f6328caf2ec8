"""What a check found: about a run, and about each question."""

from __future__ import annotations

from dataclasses import dataclass

from goalsets.check.behaviour import Behaviour
from goalsets.check.distance import Distances
from goalsets.check.imitation import Imitation, Still
from goalsets.check.support import Support
from goalsets.check.verdict import Thresholds, Verdict


@dataclass(frozen=True)
class Checked:
    """What was found about one question."""

    name: str
    query: str
    note: str
    """What had to be assumed."""
    rows: int
    """Held-out rows that it was asked at."""
    support: Support
    imitation: Imitation | None
    distances: Distances | None
    behaviour: Behaviour | None
    verdict: Verdict


@dataclass(frozen=True)
class Check:
    """What was found about a run."""

    run: str
    task: str
    learner: str
    scheme: str
    step: int
    data: str
    """Where the data came from."""
    train_episodes: int
    train_states: int
    """How many of them were looked at."""
    held_out_episodes: int
    held_out: bool
    """Whether there were any; otherwise training episodes stood in."""
    still: Still
    """What holding still is."""
    rate: float | None
    """Control steps a second, where it is known."""
    actions: tuple[str, ...]
    """What the components of actions are called."""
    notes: tuple[str, ...]
    thresholds: Thresholds
    seconds: float
    questions: tuple[Checked, ...]
