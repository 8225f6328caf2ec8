"""Logs of my own format, in one file: a directory of JSON Lines, one file an episode.

A line is a step: the state by name, and the action that was taken in it.

    {"state": {"x": 0.0, "y": 0.5}, "action": [0.1, -0.1]}

Copy it, change the lines that are marked with "Yours:", and say
`goalsets data import jsonl LOGS --plugin my_source.py`.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import SOURCES, Notices, SourceError
from goalsets.data.sources.base import check_split, make_episode, natural


@SOURCES.register("jsonl")  # Yours: its name.
@dataclass(frozen=True)
class JsonLines:
    """Yours: what it reads, in a line. Fields become arguments and options of the command."""

    path: Path
    """The directory."""
    rate: float | None = None
    """Steps a second, if you know it."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    # Yours: whether the log sets episodes apart for validation. If not, a share is held out.
    has_validation = False

    def describe(self):
        """Yours: what is being read, in a line."""
        return f"JSON Lines in {self.path}"

    def fields(self):
        """Yours: the coordinates of a state, in order. A layout is proposed from their names."""
        return tuple(FieldSpec(name, 1) for name in self.steps(self.files()[0])[0]["state"])

    def episodes(self, split="train"):
        """Yours: the episodes, one at a time, and the same ones whenever it is called."""
        check_split(split, self.has_validation, self.path)
        names = [field.name for field in self.fields()]
        for file in self.files():
            steps = self.steps(file)
            if any(list(step["state"]) != names for step in steps):
                raise SourceError(f"{file}: expected states of {', '.join(names)}, as elsewhere.")
            states = np.array([list(step["state"].values()) for step in steps], np.float32)
            actions = np.array([step["action"] for step in steps], np.float32)
            # Where a log ends with an action, no state follows it: it is dropped, with a notice.
            episode = make_episode(str(file), states, actions, {}, self.notices)
            if episode is not None:  # a single state is no episode
                yield episode

    def files(self):
        """The files, with `log_2` before `log_10`."""
        found = sorted(self.path.glob("*.jsonl"), key=lambda file: natural(file.name))
        if not found:
            raise SourceError(f"{self.path} has no files *.jsonl: name the directory of the logs.")
        return found

    def steps(self, file):
        """The lines of a file."""
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
