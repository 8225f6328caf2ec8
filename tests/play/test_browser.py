"""The playground from end to end: a real browser, a real server, the shipped model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from goalsets.play.scene import camera_of
from tests.play.browser import Tab, needs_browser, playground, project
from tests.play.runs import tiny_run

pytestmark = [
    needs_browser,
    pytest.mark.full,
    pytest.mark.timeout(300),
]


Opener = Callable[[str], Tab]


@pytest.fixture
def open_tab(browser: Any) -> Iterator[Callable[[str], Tab]]:
    """Open tabs, and close them whatever happens."""
    tabs: list[Tab] = []

    def new(url: str) -> Tab:
        tabs.append(Tab(browser, url))
        return tabs[-1]

    yield new
    for tab in tabs:
        tab.page.close()


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with playground("--sessions", "2") as url:
        yield url


def test_a_stranger_plays(open_tab: Opener, demo: str) -> None:
    tab = open_tab(demo).ready()
    tab.shows(50)
    tab.sees("held-out state 0")
    # A chip changes the text, the text changes the chips.
    tab.chip("eff_pos").click()
    tab.asks("eff_pos & block0_pos")
    tab.say("cube_pose")
    tab.asks("block0_pos & block0_yaw")
    assert tab.chip("block0_yaw").inner_text().startswith("✓")
    assert not tab.chip("eff_pos").inner_text().startswith("✓")
    # A wrong text is explained, stays to be mended, and changes nothing.
    tab.say("cube_poze")
    tab.sees("unknown group 'cube_poze'")
    tab.asks("cube_poze")
    assert tab.chip("block0_yaw").inner_text().startswith("✓")
    tab.say("block0_pos")
    tab.asks("block0_pos")
    tab.is_content()
    # Run to success.
    tab.button("max").click()
    tab.button("Play").click()
    tab.sees(re.compile("^Reached at step [1-9]"))
    tab.shows(50)
    tab.sees(re.compile("the question holds now"))
    # Change the question in the middle of an episode, which goes on.
    tab.button("¼×").click()
    tab.button("Play again").click()
    tab.sees(re.compile(r"step [1-9]\d* · the question does not"))
    tab.chip("eff_pos").click()
    tab.asks("eff_pos & block0_pos")
    tab.sees("On its way")
    tab.sees(re.compile(r"step [1-9]\d* · "))
    tab.button("Pause").click()
    # Nothing was asked of anybody else: it works without the internet.
    hosts = {url.split("/")[2] for url in tab.asked if "://" in url and url.startswith("http")}
    assert hosts == {demo.removeprefix("http://")}


def test_the_ghost_is_dragged_and_numbers_say_so(open_tab: Opener, demo: str) -> None:
    tab = open_tab(demo).ready()
    tab.page.get_by_text("All its numbers, and where they are from").click()
    row = tab.page.locator("tr", has_text=re.compile("block0_pos.*(held-out|dragged)"))
    row.wait_for()
    before = _numbers(row.inner_text())
    look, camera, fov = camera_of(panes=1)
    above = np.array(before) / 10 + np.array([0.425, 0.0, 0.07])  # on the arrow that lifts
    tab.drag(project(above, camera, look, tab.canvas(), fov), (0.0, -60.0))
    tab.sees("held-out state 0, changed")
    tab.page.locator("tr", has_text=re.compile("block0_pos.*dragged")).wait_for()
    after = _numbers(row.inner_text())
    assert after[2] > before[2] + 0.2
    assert after[:2] == pytest.approx(before[:2], abs=0.02)
    tab.button("Another").click()
    tab.sees(re.compile(r"held-out state \d+$"))


def test_tabs_do_not_disturb_each_other_and_make_room(open_tab: Opener, demo: str) -> None:
    first, second = open_tab(demo).ready(), open_tab(demo).ready()
    first.say("eff_pos")
    first.asks("eff_pos")
    assert second.field("As text").input_value() == "block0_pos"
    second.button("Play").click()
    second.sees(re.compile("^Reached at step"))
    assert "step 0" in first.page.locator("[data-light]").inner_text()
    third = open_tab(demo)
    third.sees("This playground is full: 2 tabs play already")
    fourth = open_tab(demo)
    fourth.sees("This playground is full")
    second.page.close()
    third.ready()  # who waits longest takes the room that was left
    fourth.sees("This playground is full")
    assert third.field("As text").input_value() == "block0_pos"


def test_every_control_does_what_it_says(open_tab: Opener, tmp_path: Path) -> None:
    table = "tabletop-single-v0"
    run = tiny_run(tmp_path, table, "gcdl")
    with playground(str(run.path), "--data", str(tmp_path / table)) as url:
        tab = open_tab(url).ready()
        tab.sees(re.compile("of the training data answer it"))
        # Tolerances and ready-made questions write the text, too.
        tab.type("within cm", "2")
        tab.asks("block0_pos:0.2")  # in observation units, of a decimetre
        tab.choose("Ready-made", "everything")
        tab.asks("all")
        tab.choose("Ready-made", "block0_pos")
        tab.asks("block0_pos")
        # Distances, under other questions side by side.
        legend = tab.page.locator(".u-legend .u-label")
        legend.filter(has_text="the question").wait_for()
        tab.page.get_by_text("Compare with other questions").click()
        tab.page.locator("label", has_text=re.compile("^eff_pos$")).click()
        legend.filter(has_text="eff_pos").wait_for()
        # Time, step by step; an episode that was, and back.
        for number in (1, 2):
            tab.button("Step").click()
            tab.sees(f"step {number} · ")
        tab.button("Reset").click()
        tab.sees("step 0 · ")
        tab.button("Replay").click()
        tab.button("Play the recording").wait_for()
        tab.sees("step 2 · ")
        tab.button("Back to live").click()
        tab.sees("step 0 · ")


def test_two_checkpoints_play_in_two_panes_and_are_filmed(open_tab: Opener, tmp_path: Path) -> None:
    table = "tabletop-single-v0"
    runs = [tiny_run(tmp_path, table, learner, learner) for learner in ("gcdl", "gcbc")]
    words = [str(run.path) for run in runs]
    with playground(*words, "--data", str(tmp_path / table)) as url:
        tab = open_tab(url).ready()
        tab.shows(20)
        # Goals from everywhere.
        tab.button("Official").click()
        tab.sees("official goal 1")
        tab.page.get_by_text("Choose exactly").click()
        tab.choose("Official", "3")
        tab.sees("official goal 3")
        tab.type("Condition", "no_group > 1")
        tab.sees("unknown group 'no_group'")
        tab.type("Condition", "block0_pos.x > -100")
        tab.sees(re.compile(r"held-out state \d+$"))
        tab.type("Set", "block0_pos.x=12cm")
        tab.sees(re.compile(r"held-out state \d+, changed$"))
        # Both are asked, and each has its light and its column.
        tab.button("Push the block").click()
        tab.button("max").click()
        tab.button("Play").click()
        tab.sees("gcdl: Not reached: time is up")
        tab.sees("gcbc: Not reached: time is up")
        tab.button("Where it is now").click()
        tab.sees("state at step")
        tab.sees("gcdl: Reached at step")
        # The film is a film, of both.
        with tab.page.expect_download() as download:
            tab.button("Film (MP4)").click()
        assert download.value.suggested_filename == "episode-1.mp4"
        assert b"ftyp" in download.value.path().read_bytes()[:16]
        tab.sees("episode-1.mp4 is in your downloads")


def test_what_breaks_is_said_and_the_server_lives_on(open_tab: Opener, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, "tabletop-single-v0", "gcbc")
    weights = load_file(run.checkpoint)
    broken = {
        name: np.full_like(value, math.nan) if "actor" in name else value
        for name, value in weights.items()
    }
    metadata = _metadata(run.checkpoint)
    save_file(broken, run.checkpoint, metadata)
    with playground(str(run.path), "--data", str(tmp_path / "tabletop-single-v0")) as url:
        tab = open_tab(url).ready()
        tab.shows(20)  # in 2D
        tab.button("Play").click()
        tab.sees("the policy answered with numbers that are not finite")
        tab.button("Reset").click()
        tab.is_content()
        open_tab(url).ready()


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)][:3]


def _metadata(path: Path) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        return {name: text for name, text in file.metadata().items() if "digest" not in name}
