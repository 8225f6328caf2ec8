"""Where the data of a task is found, and what is said where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from goalsets import Episode
from goalsets.collect.find import find_store
from goalsets.core import GoalsetsError
from goalsets.envs.tasks import TASKS, Script
from tests.envs.walking import WalkTask, walk_task


@dataclass(frozen=True)
class ScriptedWalk(WalkTask):
    """Makes data of itself."""

    @property
    def script(self) -> Script:
        states = np.zeros((6, 3), dtype=np.float32)
        episodes = [Episode(states, states[:5, :2])]
        return Script("walks", lambda: 3 * episodes, lambda: episodes)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path))
    return tmp_path


def test_only_what_can_be_done_is_advised(home: Path) -> None:
    with pytest.raises(GoalsetsError) as told:
        find_store("scene-play-v0")
    assert "goalsets data collect scene-play-v0\n  goalsets data import ogbench" in str(told.value)
    with pytest.raises(GoalsetsError, match="Import a log of it: .* Or name a store with --data"):
        find_store("a-task-from-elsewhere-v0")


def test_a_task_that_makes_its_data_says_so_before(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = walk_task()
    fields = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    monkeypatch.setitem(TASKS._entries, "walk-v0", ScriptedWalk(**fields))
    with pytest.raises(GoalsetsError, match="'goalsets train walk-v0' makes it"):
        find_store("walk-v0")
    said: list[str] = []
    store = find_store("walk-v0", make=True, say=said.append)
    assert said == [
        f"making the data of walk-v0, once: {home / 'walk-v0'}",
        "collected 3 episodes of walk-v0",
    ]
    assert store.train.num_episodes == 3
    find_store("walk-v0", make=True, say=said.append)
    assert len(said) == 2
