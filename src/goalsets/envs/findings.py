"""The report of `goalsets.check_task`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from goalsets.envs.adapter import CannotError


@dataclass
class Report:
    """What was found about a task."""

    task: str
    findings: list[str] = field(default_factory=list[str])
    """What is missing or wrong: some command will fail, or judge wrongly."""
    remarks: list[str] = field(default_factory=list[str])
    """What the task cannot do, and what could not be checked."""

    def find(self, text: str) -> None:
        """Add a finding, once."""
        if text not in self.findings:
            self.findings.append(text)

    def remark(self, text: str) -> None:
        """Add a remark, once."""
        if text not in self.remarks:
            self.remarks.append(text)

    @contextlib.contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Turn any error into a finding: an unknown environment may raise anything."""
        try:
            yield
        except CannotError as error:
            self.find(str(error))
        except Exception as error:
            self.find(f"{what} failed with {type(error).__name__}: {error}")
