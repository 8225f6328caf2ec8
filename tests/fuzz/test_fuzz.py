"""Files changed at random: the same answer or an error of ours, in little time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from goalsets.core.door.tensors import read_arrays, sealed
from goalsets.core.errors import FileError
from tests.fuzz.kinds import FILES, RUNS
from tests.fuzz.says import forge

ROOT = Path(__file__).parents[2]


def fuzz(count: int, *kinds: str) -> None:
    """Fuzz kinds in a process with a limit on its memory; a crash of that process fails, too."""
    command = [sys.executable, "-m", "tests.fuzz.child", str(count), "0", *kinds]
    source = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        command, cwd=ROOT, env=source, capture_output=True, text=True, check=False
    )
    print(done.stdout)
    last = done.stderr.splitlines()[-15:]
    assert done.returncode == 0, "\n".join(last)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["kind"] for record in found] == list(kinds)
    for record in found:
        told = "\n".join(record["failures"])
        assert not record["failures"], f"{record['kind']}:\n{told}"
        assert record["same"] < 0.9 * count, f"{record['kind']} is hardly ever changed"


def test_a_forged_file_passes_the_digest(tmp_path: Path) -> None:
    """Otherwise the checks behind it would never be reached."""
    path = tmp_path / "forged.safetensors"
    data = bytearray(sealed(save, {"a": np.zeros(4, np.float32)}, {}))
    data[-1] = 64
    path.write_bytes(data)
    with pytest.raises(FileError, match="is damaged"):
        read_arrays(path)
    path.write_bytes(forge(bytes(data)))
    assert read_arrays(path)[0]["a"].tolist() == [0, 0, 0, 2]


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kinds", [tuple(FILES), tuple(RUNS)], ids=["files", "runs"])
def test_a_changed_file_gives_the_same_answer_or_an_error(kinds: tuple[str, ...]) -> None:
    fuzz(300, *kinds)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", [*FILES, *RUNS])
def test_twenty_thousand_changes_of_each_kind(kind: str) -> None:
    fuzz(20_000, kind)
