"""Logs of my own format, in one file: a directory of CSV files, one episode each.

The first line of a file names its columns. Those that begin with `action` are actions; all others
make up the state. A row has a state and the action that was taken in it.

    x,y,action_x,action_y
    0.0,0.5,0.1,-0.1

Copy it, change the lines that are marked with "Yours:", and say
`goalsets data import csv LOGS --plugin my_source.py`.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import SOURCES, Notices, SourceError
from goalsets.data.sources.base import check_split, make_episode, natural


@SOURCES.register("csv")  # Yours: its name.
@dataclass(frozen=True)
class Csv:
    """Yours: what it reads, in a line. Fields become arguments and options of the command."""

    path: Path
    """The directory."""
    action: str = "action"
    """How the names of the columns begin that are actions."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    # Yours: whether the log sets episodes apart for validation. If not, a share is held out.
    has_validation = False

    def describe(self):
        """Yours: what is being read, in a line."""
        return f"CSV files in {self.path}"

    def fields(self):
        """Yours: the coordinates of a state, in order. A layout is proposed from their names."""
        names, is_action = self.columns(self.files()[0])
        return tuple(FieldSpec(str(name), 1) for name in names[~is_action])

    def episodes(self, split="train"):
        """Yours: the episodes, one at a time, and the same ones whenever it is called."""
        check_split(split, self.has_validation, self.path)
        first, is_action = self.columns(self.files()[0])
        for file in self.files():
            if list(self.columns(file)[0]) != list(first):
                raise SourceError(f"{file}: expected the columns {', '.join(first)}, as elsewhere.")
            rows = np.loadtxt(file, np.float32, delimiter=",", skiprows=1, ndmin=2)
            # Where a log ends with an action, no state follows it: it is dropped, with a notice.
            states, actions = rows[:, ~is_action], rows[:, is_action]
            episode = make_episode(str(file), states, actions, {}, self.notices)
            if episode is not None:  # a single state is no episode
                yield episode

    def files(self):
        """The files, with `log_2` before `log_10`."""
        found = sorted(self.path.glob("*.csv"), key=lambda file: natural(file.name))
        if not found:
            raise SourceError(f"{self.path} has no CSV files: name the directory that they are in.")
        return found

    def columns(self, file):
        """The names of a file's columns, and which of them are actions."""
        with file.open(encoding="utf-8") as lines:
            names = [name.strip() for name in lines.readline().split(",")]
        return np.array(names), np.array([name.startswith(self.action) for name in names])
