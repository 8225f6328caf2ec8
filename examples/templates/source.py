"""Logs of my own format, in one file: a directory of JSON Lines, one file for each episode.

A line is a step: the state by name, and the action taken in it.

    {"state": {"x": 0.0, "y": 0.5}, "action": [0.1, -0.1]}

Copy it, change the lines that are marked with "Yours:", and run
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
    """Yours: one line on what it reads. Fields become arguments and options of the command."""

    path: Path
    """The directory."""
    rate: float | None = None
    """Steps a second, if you know it."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    # Yours: whether the log has validation episodes. If not, the import holds out a share.
    has_validation = False

    def describe(self):
        """Yours: one line that names the log."""
        return f"JSON Lines in {self.path}"

    def fields(self):
        """Yours: the coordinates of a state, in order. The import proposes a layout from them."""
        return tuple(FieldSpec(name, 1) for name in self.steps(self.files()[0])[0]["state"])

    def episodes(self, split="train"):
        """Yours: the episodes, one at a time. Every call gives the same episodes."""
        check_split(split, self.has_validation, self.path)
        names = [field.name for field in self.fields()]
        for file in self.files():
            steps = self.steps(file)
            if any(list(step["state"]) != names for step in steps):
                raise SourceError(f"{file}: expected states of {', '.join(names)}, as elsewhere.")
            states = np.array([list(step["state"].values()) for step in steps], np.float32)
            actions = np.array([step["action"] for step in steps], np.float32)
            # If no state follows the last action, that action is dropped with a notice.
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
