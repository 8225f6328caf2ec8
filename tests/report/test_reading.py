"""Runs are found and read; what cannot be is named, with the reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from goalsets import GoalsetsError
from goalsets.report.reading import read_runs
from goalsets.report.results import gather
from goalsets.runs.config import TrainConfig
from tests.report.conftest import STEPS, official, scored, share, write_run


def reasons(places: list[Path]) -> dict[str, str]:
    return {Path(note.place).name: note.reason for note in read_runs(places).notes}


def test_runs_are_found_at_any_depth_and_once(tmp_path: Path) -> None:
    run = scored(tmp_path / "a" / "b" / "run", 50)
    other = scored(tmp_path / "other", 50, seed=1)
    (run / "asked" / "001").mkdir(parents=True)
    shutil.copy(run / "config.json", run / "asked" / "001")  # what lies in a run belongs to it
    found = read_runs([tmp_path, run])
    assert [r.path for r in found.runs] == [run, other]
    assert not found.notes


def test_damage_is_told(tmp_path: Path) -> None:
    scored(tmp_path / "good", 50)
    for name in ("cut", "binary", "list", "foreign", "newer", "scheme", "lost"):
        write_run(tmp_path / name, [official(STEPS, share(50))])
    config = tmp_path / "cut" / "config.json"
    config.write_text(config.read_text()[:20])
    (tmp_path / "binary" / "config.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "list" / "config.json").write_text("[]")
    (tmp_path / "foreign" / "config.json").write_text('{"model": "gpt"}')
    plain = json.loads((tmp_path / "good" / "config.json").read_text())
    (tmp_path / "newer" / "config.json").write_text(json.dumps({**plain, "version": 99}))
    (tmp_path / "scheme" / "config.json").write_text(json.dumps({**plain, "scheme": "gs-blok"}))
    (tmp_path / "lost" / "config.json").unlink()
    told = reasons([tmp_path])
    assert "config.json is damaged" in told["cut"]
    assert "config.json is damaged" in told["binary"]
    assert "expected a configuration" in told["list"]
    assert "not the configuration of a run" in told["foreign"]
    assert "version 99" in told["newer"]
    assert "unknown scheme 'gs-blok'" in told["scheme"]
    assert "no config.json" in told["lost"]
    assert [run.path.name for run in read_runs([tmp_path]).runs] == ["good"]


def test_an_older_run_is_read(tmp_path: Path) -> None:
    run = scored(tmp_path / "run", 50)
    plain = json.loads((run / "config.json").read_text())
    for name in ("version", "schedule", "clip_apart", "weight_decay"):  # none of them was there
        del plain[name]
    (run / "config.json").write_text(json.dumps(plain))
    (run / "data.json").unlink()
    record = official(STEPS, share(50))
    del record["training_seconds"]
    (run / "evaluations.jsonl").write_text(json.dumps(record) + "\n")
    found = read_runs([tmp_path])
    assert found.runs[0].config == TrainConfig(task=plain["task"], steps=STEPS, batch_size=512)
    assert "does not say which data" in found.notes[0].reason
    results = gather(found.runs, found.notes)
    assert results.get(plain["task"], "gcbc", "gs-blockwise").mean == 50


def test_a_damaged_line_loses_no_other(tmp_path: Path) -> None:
    run = scored(tmp_path / "run", 50)
    with (run / "evaluations.jsonl").open("a") as file:
        file.write('{"kind": "official", "succ\n42\n')
        file.write(json.dumps({"kind": "official", "step": "soon"}) + "\n")  # lacks all else
    found = read_runs([tmp_path])
    assert len(found.runs[0].records("official")) == 1
    assert "line 2, 3, 4 of its evaluations.jsonl is damaged" in found.notes[0].reason
    assert len(gather(found.runs, found.notes).cells) == 1


def test_a_copy_is_no_further_seed(tmp_path: Path) -> None:
    write_run(tmp_path / "copy", [])
    run = scored(tmp_path / "run", 50)
    found = read_runs([tmp_path])
    assert [r.path for r in found.runs] == [run]
    assert "a copy is not another seed" in found.notes[0].reason
    assert found.notes[0].place == str(tmp_path / "copy")


def test_nothing_to_report_on(tmp_path: Path) -> None:
    with pytest.raises(GoalsetsError, match="found no run to report on in"):
        read_runs([tmp_path])
    with pytest.raises(GoalsetsError, match="is not a directory: name run directories"):
        read_runs([tmp_path / "nowhere"])
    broken = write_run(tmp_path / "broken")
    (broken / "config.json").write_text("{")
    with pytest.raises(GoalsetsError, match="broken: left out: its config.json is damaged"):
        read_runs([tmp_path])
