"""Play for half an hour at full speed in a real browser, and watch the memory of both sides.

    python tools/play_soak.py --minutes 30 -o soak.csv

A tab of the playground runs as fast as it can, with a new goal after each episode. It is drawn four
times a second. Every minute the question changes, and every fifth minute a recording is shown. The
resident memory of the server and the page's own heap are written every ten seconds (seconds, MB,
MB, episodes). At the end it prints how much they grew between the first third and the last.
"""

import argparse
import itertools
import os
import re
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from playground_tab import Tab, open_tab
from playwright.sync_api import Page, ViewportSize

QUESTIONS = ("cube_pos", "ee_pos", "ee_pose", "cube_pose", "airborne_cube_pos", "all")
EVERY = 10.0
# Draw rarely: drawing in software would slow the simulation down.
DRAW_RARELY = """
const next = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = f => setTimeout(() => next(f), 250);
"""


def main() -> int:
    """Play, measure, and return 1 if memory grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("-o", "--output", type=Path, default=Path("soak.csv"))
    options = parser.parse_args()
    size: ViewportSize = {"width": 860, "height": 500}
    with (
        open_tab(size=size, script=DRAW_RARELY) as tab,
        options.output.open("w", encoding="utf-8") as file,
    ):
        rows: list[dict[str, float]] = []
        for row in play(tab, options.minutes):
            rows.append(row)
            print(*row.values(), sep=",", file=file, flush=True)
    return report(rows)


def play(tab: Tab, minutes: float) -> Iterator[dict[str, float]]:
    """Let a tab play until time is up; yield a row for each measurement."""
    page = tab.page
    tab.press("max")
    page.get_by_text("Where it starts, when it stops").click()
    page.locator("label", has_text="Keep going").click()
    tab.press("Play")
    start = time.monotonic()
    for turn in itertools.count(1):
        passed = time.monotonic() - start
        if passed >= 60 * minutes:
            return
        if turn % 6 == 0:
            tab.ask(QUESTIONS[turn // 6 % len(QUESTIONS)])
        if turn % 30 == 0:
            tab.press("Replay")
            page.wait_for_timeout(3000)
            tab.press("Back to live")
            page.get_by_role("button", name=re.compile("^Play")).first.click()
        yield {
            "seconds": round(passed, 1),
            "server_mb": round(resident(tab.server), 1),
            "page_mb": round(heap(page), 1),
            "episodes": episodes(page),
        }
        page.wait_for_timeout(1000 * EVERY)


def episodes(page: Page) -> int:
    """The number of the newest episode in the list."""
    values = page.eval_on_selector_all("input", "all => all.map(i => i.value)")
    numbers = [int(found[1]) for v in values if (found := re.match(r"#(\d+) ", str(v)))]
    return max(numbers, default=0)


def resident(process: int) -> float:
    """Resident memory in megabytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def heap(page: Page) -> float:
    """The page's own heap in megabytes, after a garbage collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return used / 1e6


def report(rows: list[dict[str, float]]) -> int:
    """Print the memory, and return 1 if the last third is more than a tenth above the first.

    The first minute is left out, because the world is built in it.
    """
    rows = [row for row in rows if row["seconds"] >= 60] or rows
    third = max(len(rows) // 3, 1)
    grew = False
    for name in ("server_mb", "page_mb"):
        first = statistics.median(row[name] for row in rows[:third])
        last = statistics.median(row[name] for row in rows[-third:])
        top = max(row[name] for row in rows)
        print(
            f"{name}: median {first:.0f} in the first third, {last:.0f} in the last, top {top:.0f}"
        )
        grew |= last > 1.1 * first
    print(f"{rows[-1]['episodes']:.0f} episodes in {rows[-1]['seconds'] / 60:.1f} minutes")
    print("memory grew" if grew else "no growth")
    return int(grew)


if __name__ == "__main__":
    sys.exit(main())
