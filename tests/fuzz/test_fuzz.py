"""Files changed at random: the same answer or an error of ours, in little time and memory."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from goalsets.core.door.seal import OPEN_SEAL, seal
from goalsets.core.door.tensors import read_arrays, sealed
from goalsets.core.errors import FileError
from tests.fuzz.kinds import FILES, KINDS, OTHERS, RUNS, changed
from tests.fuzz.parent import ROOT, Child, CrashError
from tests.fuzz.says import forge

GROUPS = {"files": tuple(FILES), "runs": tuple(RUNS), **{kind: (kind,) for kind in OTHERS}}
"""Kinds that share a process. The libraries of all kinds together do not fit into its memory."""


def fuzz(count: int, *kinds: str) -> None:
    """Fuzz kinds in a process with a limit on its memory; a crash of that process fails, too."""
    with Child(kinds, count) as child:
        found = [report for report in child.reports() if report["ended"]]
    assert [(report["kind"], report["done"]) for report in found] == [(k, count) for k in kinds]
    for report in found:
        print(report)
        told = "\n".join(report["failures"])
        assert not report["failures"], f"{report['kind']}:\n{told}"
        assert report["same"] < 0.9 * count, f"{report['kind']} is hardly ever changed"


def test_a_forged_file_passes_the_digest(tmp_path: Path) -> None:
    """Otherwise the checks behind it would never be reached."""
    path = tmp_path / "forged.safetensors"
    data = bytearray(sealed(save, {"a": np.zeros(4, np.float32)}, {}))
    data[-1] = 64
    older = seal(save({"a": np.zeros(4, np.float32)}, metadata={"digest": OPEN_SEAL}))
    for damaged in (bytes(data), older[:-1] + b"\x40"):
        path.write_bytes(damaged)
        with pytest.raises(FileError, match="is damaged"):
            read_arrays(path)
        path.write_bytes(forge(damaged))
        assert read_arrays(path)[0]["a"].tolist() == [0, 0, 0, 2]


@pytest.mark.parametrize("kind", ["layout-json", "layout-yaml", "suite-description"])
def test_a_change_is_decided_by_its_number(kind: str, tmp_path: Path) -> None:
    """Earlier changes have no part in it: a change that fails can be looked at alone."""
    KINDS[kind].make(tmp_path)
    (file,) = tmp_path.glob(KINDS[kind].file)
    data = file.read_bytes()

    def change(number: int) -> bytes:
        with contextlib.suppress(ValueError, TypeError, OverflowError, RecursionError):
            return changed(data, KINDS[kind], np.random.default_rng(number))
        return data

    assert [change(number) for number in range(300)] == [change(number) for number in range(300)]


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kinds", GROUPS.values(), ids=GROUPS)
def test_a_changed_file_gives_the_same_answer_or_an_error(kinds: tuple[str, ...]) -> None:
    fuzz(300, *kinds)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", [*KINDS])
def test_twenty_thousand_changes_of_each_kind(kind: str) -> None:
    fuzz(20_000, kind)


@pytest.mark.full
def test_the_command_counts_and_stops_cleanly() -> None:
    """It prints what it has counted so far, and nothing is left of it."""
    command = [sys.executable, "-m", "tests.fuzz", "weights", "status", "--seed", "3"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [next(process.stdout).split() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        lines += [line.split() for line in process.stdout]
    assert process.returncode == 130
    assert lines[1][:3] == ["kind", "done", "same"]
    kind, done, *counts = lines[-2][:5]
    assert kind == "weights"
    assert 0 < int(done) < 20_000
    assert sum(map(int, counts)) == int(done)
    assert " ".join(lines[-1]) == "stopped: 1 of 2 kinds were not begun"


def test_a_fault_of_a_library_is_a_failure() -> None:
    with Child(["no such kind"], 1) as child, pytest.raises(CrashError, match="no such kind"):
        list(child.reports())
