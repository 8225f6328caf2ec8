"""Time that is counted: by the clock, and by the processor."""

from __future__ import annotations

import time
from pathlib import Path

from goalsets.runs.weights import Moment, Progress, progress_of


def test_waiting_is_no_work_of_the_processor() -> None:
    start = Moment.now()
    time.sleep(0.05)
    after = Progress(0, 0.0, 0.0).after(start)
    assert after.step == 1
    assert after.seconds >= 0.05
    assert after.processor_seconds is not None
    assert after.processor_seconds < 0.03


def test_a_share_of_the_time() -> None:
    start = Moment(time.perf_counter() - 8.0, time.process_time() - 4.0)
    after = Progress(3, 1.0, 1.0).after(start, share=0.25)
    assert after.processor_seconds is not None
    assert 2.9 < after.seconds < 3.1
    assert 1.9 < after.processor_seconds < 2.1


def test_files_of_older_versions_do_not_know_it() -> None:
    known = Progress(2, 1.5, 0.5)
    assert progress_of(known.header(), Path("file")) == known
    old = progress_of({"step": "2", "seconds": "1.5"}, Path("file"))
    assert old.processor_seconds is None
    assert old.after(Moment.now()).processor_seconds is None
    assert "processor_seconds" not in old.record()
    assert known.record() == {"step": 2, "training_seconds": 1.5, "processor_seconds": 0.5}
