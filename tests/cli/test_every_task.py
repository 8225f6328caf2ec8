"""The paper's eight tasks, from nothing to a score, as a user would type it: one slow test each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from goalsets.collect import can_collect
from goalsets.envs.tasks import TASKS
from goalsets.report.published import published_tasks

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def goalsets(*arguments: str, data: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "goalsets", *arguments],
        env={**os.environ, "GOALSETS_DATA": str(data)},
        cwd=data,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.mark.parametrize("task", published_tasks())
def test_collect_train_and_eval(task: str, tmp_path: Path) -> None:
    assert can_collect(task)
    goalsets("data", "collect", task, "--episodes", "2", "--workers", "1", data=tmp_path)
    goalsets("data", "import", "ogbench", task, "--offline", data=tmp_path)
    run = tmp_path / "run"
    budget = ("--steps", "20", "--batch-size", "64", "--evaluate", "never", "--threads", "1")
    goalsets("train", task, "--output", str(run), *budget, data=tmp_path)
    goalsets("eval", str(run), "--episodes", "1", "--workers", "1", data=tmp_path)
    (record,) = (run / "evaluations.jsonl").read_text(encoding="utf-8").splitlines()
    episodes = json.loads(record)["episodes"]
    assert [episode["task_id"] for episode in episodes] == [1, 2, 3, 4, 5]
    # An episode ends on success, or when the environment ends it.
    assert all(e["success"] or e["steps"] == TASKS[task].horizon for e in episodes), episodes
