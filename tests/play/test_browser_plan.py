"""The plan on the page, in a real browser: switched on, changed, and ticked off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.planned import TASK, planned_run
from tests.play.browser import Tab, needs_browser, playground
from tests.play.runs import tiny_run

pytestmark = [
    needs_browser,
    pytest.mark.full,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("browser"),
]


def switch(tab: Tab) -> Any:
    return tab.page.locator("label", has_text=re.compile("^Plan$"))


def steps(tab: Tab, *texts: str) -> None:
    """Wait until the plan has these steps: each begins with a mark and has a text in it."""
    tab.page.wait_for_function(
        """texts => {
            const found = [...document.querySelectorAll('[data-step]')].map(e => e.innerText);
            return found.length === texts.length
                && found.every((text, i) => text.replace(/\\s+/g, ' ').includes(texts[i]));
        }""",
        arg=list(texts),
    )


def test_a_person_plans(browser: Any, tmp_path: Path) -> None:
    run = planned_run(tmp_path)
    with playground(str(run.path), "--data", str(tmp_path / TASK.name)) as url:
        tab = Tab(browser, url).ready()
        tab.page.get_by_text("Choose exactly").click()
        tab.choose("Official", "4")
        tab.page.get_by_text("Choose exactly").click()
        tab.page.get_by_text("Where it starts, when it stops").click()
        tab.choose("Start of task", "4")
        tab.page.get_by_text("Where it starts, when it stops").click()
        tab.sees("Off: everything is asked for at once.")
        switch(tab).click()
        steps(tab, "▶ 1. block1_pos", "○ 2. block0_pos", "○ 3. block1_pos")
        tab.sees("About 100 steps in all.")
        # Reorder: a step that was moved stays chosen.
        tab.page.get_by_text("Change the plan").click()
        tab.choose("Step", re.compile(r"^2\. block0_pos"))
        tab.button("Earlier").click()
        steps(tab, "▶ 1. block0_pos", "○ 2. block1_pos", "○ 3. block1_pos")
        tab.button("Earlier").click()
        tab.sees("this step is due already.")
        tab.button("Drop").click()
        steps(tab, "▶ 1. block1_pos", "○ 2. block1_pos")
        # A step of one's own.
        tab.button("Insert a step of your own").click()
        tab.sees("step 1 of the plan")
        tab.say("eff_pos")
        tab.asks("eff_pos")
        tab.button("Insert it").click()
        steps(tab, "▶ 1. eff_pos", "○ 2. block1_pos", "○ 3. block1_pos")
        tab.sees("official goal 4")
        tab.asks("block0_pos & block1_pos")
        tab.button("Insert a step of your own").click()
        tab.button("Cancel").click()
        tab.button("Insert a step of your own").wait_for()
        # It runs, and Reset makes the plan anew.
        tab.button("Step").click()
        tab.sees("step 1 · ")
        tab.button("Reset").click()
        steps(tab, "▶ 1. block1_pos", "○ 2. block0_pos", "○ 3. block1_pos")
        # What cannot be planned is said in a sentence.
        tab.page.get_by_text("Choose exactly").click()
        tab.choose("Official", "5")
        tab.page.locator("[data-plan=missing]").wait_for()
        switch(tab).click()
        tab.sees("Off: everything is asked for at once.")
        tab.page.close()


def test_without_a_planner_there_is_no_switch(browser: Any, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, "tabletop-single-v0", "gcbc")
    with playground(str(run.path), "--data", str(tmp_path / "tabletop-single-v0")) as url:
        tab = Tab(browser, url).ready()
        tab.shows(20)
        assert switch(tab).count() == 0
        tab.page.close()
