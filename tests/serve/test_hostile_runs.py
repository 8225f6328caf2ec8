"""A run directory from a stranger cannot execute code."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from goalsets import GoalsetsError
from goalsets.runs.run import Run
from goalsets.serve.models import open_models


class Trap:
    """A pickle that leaves a trace when somebody loads it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("name", ["checkpoint.safetensors", "frame.safetensors", "config.json"])
def test_a_run_directory_cannot_execute_code(name: str, robot: Run, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for file in robot.path.iterdir():
        if file.is_file():
            (run / file.name).write_bytes(file.read_bytes())
    open_models([f"x={run}"])
    trace = tmp_path / "trace"
    (run / name).write_bytes(pickle.dumps(Trap(trace)))
    with pytest.raises(GoalsetsError):
        open_models([f"x={run}"])
    assert not trace.exists()
    pickle.loads(pickle.dumps(Trap(trace)))
    assert trace.exists()  # the trap works, for those who load pickles
