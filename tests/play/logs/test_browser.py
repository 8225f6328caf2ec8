"""A stranger looks at logs of an arm: a real browser, a real server."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from goalsets.runs.run import Run
from tests.play.browser import Tab, needs_browser, playground

pytestmark = [
    needs_browser,
    pytest.mark.full,
    pytest.mark.timeout(300),
]


def test_a_stranger_scrubs_asks_and_compares(browser: Any, run: Run, here: Path) -> None:
    with playground(str(run.path), "--model", str(here / "arm.xml")) as url:
        tab = Tab(browser, url).ready()
        tab.shows(20)  # the arm, as it was recorded
        tab.sees(re.compile("recorded episodes, nothing is simulated"))
        tab.sees(re.compile(r"the data answers it in 26 steps \(2.6 s\)"))
        # Move through the episode: the cursor follows in every chart.
        tab.type("Step", "33")
        tab.sees(re.compile("step 33 of 40"))
        tab.sees("The question is answered here")
        # Another episode, another goal, another question.
        tab.button("Next").click()
        tab.sees(re.compile("^Episode 1 of the 4 held-out ones"))
        tab.sees("step 40 of episode 1")
        tab.page.get_by_text("Choose exactly").click()
        tab.type("Held-out", "bank:3")
        tab.sees("held-out state 3: step 3 of episode 0")
        tab.type("Set", "hnd=1,2")
        tab.sees("unknown group 'hnd': did you mean 'hand'?")
        tab.type("Set", "hand.x=25cm")
        tab.sees("held-out state 3: step 3 of episode 0, changed")
        tab.say("elbow")
        tab.sees(re.compile("unknown .*'elbow'.*did you mean 'elbow.pos'"))
        tab.say("arm")
        tab.asks("shoulder.pos & elbow.pos")
        tab.is_content()
        # What the policy says of it. A narrow window has it in a tab; so does one with few pixels.
        tab.page.get_by_role("tab", name="What the policy says").click()
        tab.page.locator("[data-actions='3'] svg").nth(2).wait_for()
        tab.page.locator("[data-distances='1'] svg").wait_for()
        assert tab.page.locator("[data-term]").count() == 2
        tab.sees(re.compile("of the training data answer it"))
        # Time passes, and stops at the end.
        tab.choose("Speed", "max")
        tab.button("Play").click()
        tab.sees(re.compile("step 40 of 40"))
        tab.button("Play").wait_for()
        cursors = tab.page.locator("[data-cursor='40']")
        assert cursors.count() >= 5
        if "GOALSETS_PICTURES" in os.environ:
            tab.page.screenshot(path=Path(os.environ["GOALSETS_PICTURES"]) / "play-logs.png")
        tab.page.close()
