"""The plan on the page, in a real browser: switched on, changed, and ticked off."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from goalsets import GoalSet
from goalsets.plan import read_planner
from goalsets.plan.planner_file import PLANNER
from goalsets.runs.run import Run
from tests.planned import SWAP, TASK, planned_run
from tests.play.browser import Tab, needs_browser, playground
from tests.play.runs import tiny_run

pytestmark = [
    needs_browser,
    pytest.mark.full,
    pytest.mark.timeout(300),
]


def switch(tab: Tab) -> Any:
    return tab.page.locator("label", has_text=re.compile("^Plan$"))


def steps(tab: Tab, *queries: str) -> None:
    """Wait until the plan has these steps, of which the first is due."""
    marks = ["▶", *["○"] * (len(queries) - 1)]
    texts = [f"{m} {n}. {q} =" for n, (m, q) in enumerate(zip(marks, queries, strict=True), 1)]
    tab.page.wait_for_function(
        """texts => {
            const found = [...document.querySelectorAll('[data-step]')].map(e => e.innerText);
            return found.length === texts.length
                && found.every((text, i) => text.replace(/\\s+/g, ' ').startsWith(texts[i]));
        }""",
        arg=texts,
    )


def swap(run: Run) -> tuple[str, str, str]:
    """What the steps of a swap ask for: one of the blocks goes aside first, and comes back last."""
    world = TASK.open()
    started = world.start(SWAP, 0)
    world.close()
    planner = read_planner(run.path / PLANNER)
    found = planner.plan(started.observation, GoalSet(started.goal, TASK.query))
    one, two, three = (str(step.goals.query) for step in found.steps)
    assert one == three != two
    return one, two, three


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
        one, two, three = swap(run)
        steps(tab, one, two, three)
        tab.sees(re.compile(r"^About \d+ steps in all\.$"))
        # Reorder: a step that was moved stays chosen.
        tab.page.get_by_text("Change the plan").click()
        tab.choose("Step", re.compile(rf"^2\. {two}"))
        tab.button("Earlier").click()
        steps(tab, two, one, three)
        tab.button("Earlier").click()
        tab.sees("this step is due already.")
        tab.button("Drop").click()
        steps(tab, one, three)
        # A step of one's own.
        tab.button("Insert a step of your own").click()
        tab.sees("step 1 of the plan")
        tab.say("eff_pos")
        tab.asks("eff_pos")
        tab.button("Insert it").click()
        steps(tab, "eff_pos", one, three)
        tab.sees("official goal 4")
        tab.asks("block0_pos & block1_pos")
        tab.button("Insert a step of your own").click()
        tab.button("Cancel").click()
        tab.button("Insert a step of your own").wait_for()
        # It runs, and Reset makes the plan anew.
        tab.button("Step").click()
        tab.sees("step 1 · ")
        tab.button("Reset").click()
        steps(tab, one, two, three)
        # What cannot be planned is said in a sentence.
        tab.page.get_by_text("Choose exactly").click()
        tab.type("Set", "block0_pos.x=90cm")
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
