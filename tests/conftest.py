"""Test-wide settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

# Tests run side by side: each must keep to one thread, or they wait for each other's.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# A busy machine must not fail a test of correctness, and CI must not fail at random: there the
# examples are the same every time, while at home each run looks further.
settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Undo what a command did that was run in this process: sums depend on the threads."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that may take longest, so that no worker is left with one at the end."""

    def seconds(item: pytest.Item) -> float:
        mark = item.get_closest_marker("timeout")
        return float(mark.args[0]) if mark and mark.args else 0.0

    items.sort(key=seconds, reverse=True)  # the order of the others stays


SHARING = ("check", "export", "fuzz", "plan", "play", "serve")
"""Directories whose files share runs, servers or a browser."""


class Together(LoadScopeScheduling):
    """Gives tests that share what is costly to one worker: another one would make it again.

    Those are the tests of a file, and of the directories above. Marks of `xdist_group` would not
    do: with pytest 9.2, pytest-xdist 3.8 passes over them in silence.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        directory = file.split("/")[1]
        return directory if directory in SHARING else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    """Distribute tests in that way."""
    return Together(config, log)
