"""Every family of tasks is shown and played in a real browser: slow, for it builds real worlds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.play.browser import Tab, needs_browser, playground
from tests.play.runs import tiny_run

pytestmark = [needs_browser, pytest.mark.slow, pytest.mark.timeout(600)]

FAMILIES = (
    "cube-double-play-v0",
    "scene-play-v0",
    "puzzle-3x3-play-v0",
    "pointmaze-medium-navigate-v0",
    "antmaze-medium-navigate-v0",
    "humanoidmaze-medium-navigate-v0",
    "antsoccer-arena-navigate-v0",
)


@pytest.mark.parametrize("task", FAMILIES)
def test_a_task_is_shown_and_played(browser: Any, task: str, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, task, "gcbc")
    with playground(str(run.path), "--data", str(tmp_path / task)) as url:
        tab = Tab(browser, url).ready()
        tab.shows(20)
        # A held-out state may be where the episode starts: that must not end it.
        tab.page.get_by_text("Where it starts, when it stops").click()
        tab.page.locator("label", has_text="Stop when reached").click()
        tab.button("Play").click()
        tab.sees(re.compile(r"step [1-9]\d* · "))
        # The film is MuJoCo's, at its own size.
        tab.button("Pause").click()
        with tab.page.expect_download(timeout=300_000) as download:
            tab.button("Film (MP4)").click()
        assert download.value.path().stat().st_size > 1_000
        tab.is_content()
        tab.page.screenshot(path=tmp_path.parent / f"{task}.png")
        tab.page.close()
