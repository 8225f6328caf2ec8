"""Logs: TensorBoard reads them, and a disk that is full ends in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from goalsets import GoalsetsError
from goalsets.train.log import TENSORBOARD, LogError, TensorBoardLog
from goalsets.train.session import MOST_KEPT, Pace


def curves(place: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard itself reads."""
    found = EventAccumulator(str(place / TENSORBOARD)).Reload()
    return {t: [(e.step, e.value) for e in found.Scalars(t)] for t in found.Tags()["scalars"]}


def test_tensorboard_reads_the_curves_and_forgets_what_is_trained_again(tmp_path: Path) -> None:
    log = TensorBoardLog(tmp_path)
    for step in (1, 2, 3):
        log.record(step, 0.5 * step, {"loss": 1.0 / step})
    log.close()
    assert curves(tmp_path)["time/seconds"] == [(1, 0.5), (2, 1.0), (3, 1.5)]
    resumed = TensorBoardLog(tmp_path, after=2)
    resumed.record(3, 2.0, {"loss": 8.0, "other": 1.0})
    resumed.close()
    assert curves(tmp_path)["loss"] == [(1, 1.0), (2, 0.5), (3, 8.0)]
    assert curves(tmp_path)["other"] == [(3, 1.0)]


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """Chaos found a full disk that ended in a traceback of TensorBoard's thread."""
    log = TensorBoardLog(tmp_path)
    log._path = Path("/dev/full")
    with pytest.raises(LogError, match="cannot write /dev/full: No space left on device"):
        log.record(1, 1.0, {"loss": 1.0})


def test_a_place_that_cannot_have_event_files_is_told(tmp_path: Path) -> None:
    (tmp_path / TENSORBOARD).write_text("a file", encoding="utf-8")
    with pytest.raises(LogError, match="cannot write"):
        TensorBoardLog(tmp_path)


def test_kept_weights_are_counted_before_they_fill_the_memory() -> None:
    """The fuzzer found a sweep whose list of kept weights did not fit into memory."""
    assert Pace(keep_every=4).marks(10) == [4, 8, 10]
    assert len(Pace(keep_every=1).marks(MOST_KEPT)) == MOST_KEPT
    with pytest.raises(GoalsetsError, match="would keep 1,000,000,000,000 files: at most 10,000"):
        Pace(keep_every=1).marks(10**12)
