"""The playground in a browser: simulation steps shown a second, and frames drawn a second.

`goalsets play` runs in its own process. A headless Chromium on the same cores draws in software, in
a window of 900 × 600. Without Chromium, nothing is measured.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.line import Line
from benchmarks.server import serving

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SECONDS = 6.0
"""In real time, well before the episode would end at the horizon of 200 steps."""
# Counts the animation frames in which something was drawn.
COUNT = """
window.drawn = 0; let tick = 0, last = -1;
const draw = WebGL2RenderingContext.prototype.drawElements;
WebGL2RenderingContext.prototype.drawElements = function (...all) {
  if (tick !== last) { last = tick; window.drawn++; }
  return draw.apply(this, all);
};
(function next() { tick++; requestAnimationFrame(next); })();
"""


def lines() -> Iterator[Line]:
    """Yield the lines."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("play: not measured, because there is no Chromium; on Debian: apt install chromium")
        return
    from playwright.sync_api import sync_playwright

    with serving("play", says=r"open (\S+) in") as url, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        steps, frames = watched(browser, url)
        yield Line("play, cube task in real time: steps shown", steps, "steps/s", 15.0)
        yield Line("  frames drawn by software", frames, "frames/s")
        _, frames = watched(browser, f"{url}/?fixedDpr=0.3")
        yield Line("  the same with ?fixedDpr=0.3", frames, "frames/s")
        browser.close()


def watched(browser: Any, address: str) -> tuple[float, float]:
    """Steps and frames a second, as a page shows them."""
    page = browser.new_page(viewport={"width": 900, "height": 600})
    page.set_default_timeout(120_000)
    page.add_init_script(COUNT)
    page.goto(address)
    page.get_by_text("Where it starts, when it stops").click()
    page.locator("label", has_text="Stop when reached").click()
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_timeout(2_000)
    start, first, drawn = time.perf_counter(), step(page), page.evaluate("window.drawn")
    page.wait_for_timeout(1_000 * SECONDS)
    seconds = time.perf_counter() - start
    steps, frames = step(page) - first, page.evaluate("window.drawn") - drawn
    page.close()
    return steps / seconds, frames / seconds


def step(page: Any) -> int:
    """The step that the page shows."""
    found = re.search(r"step (\d+) ·", page.locator("[data-light]").first.inner_text())
    assert found is not None
    return int(found[1])
