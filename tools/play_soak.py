"""Play for half an hour at full speed in a real browser, and watch the memory of both sides.

    python tools/play_soak.py --minutes 30 -o soak.csv

A tab of the playground keeps going as fast as it can, with a new goal after each episode; every
minute the question changes, and each fifth minute a recording is shown again. Resident memory of
the server and the page's own heap are written down every ten seconds. At the end: how much they
grew between the first third and the last.
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
QUESTIONS = ("cube_pos", "ee_pos", "ee_pose", "cube_pose", "airborne_cube_pos", "all")
EVERY = 10.0


def main() -> int:
    """Play, measure, and return 1 if memory grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("-o", "--output", type=Path, default=Path("soak.csv"))
    parser.add_argument("--chromium", default=CHROMIUM)
    options = parser.parse_args()
    command = [sys.executable, "-m", "goalsets", "play", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            rows = play(server, options)
        finally:
            server.terminate()
    return report(rows)


def play(server: subprocess.Popen[str], options: argparse.Namespace) -> list[dict[str, float]]:
    """Have a tab play, and measure until time is up."""
    assert server.stdout is not None
    url = next(found[1] for line in server.stdout if (found := re.search(r"open (\S+) in", line)))
    with sync_playwright() as driver, options.output.open("w", newline="") as file:
        browser = driver.chromium.launch(executable_path=options.chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 860, "height": 500})
        page.set_default_timeout(300_000)
        page.goto(url)
        page.get_by_role("button", name="max", exact=True).click()
        page.get_by_text("Where it starts, when it stops").click()
        page.locator("label", has_text="Keep going").click()
        page.get_by_role("button", name="Play", exact=True).click()
        writer = csv.DictWriter(file, ["seconds", "server_mb", "page_mb", "episodes"])
        writer.writeheader()
        rows: list[dict[str, float]] = []
        start = time.monotonic()
        while (passed := time.monotonic() - start) < 60 * options.minutes:
            if len(rows) % 6 == 5:
                ask(page, QUESTIONS[len(rows) // 6 % len(QUESTIONS)])
            if len(rows) % 30 == 29:
                page.get_by_role("button", name="Replay", exact=True).click()
                page.wait_for_timeout(3000)
                page.get_by_role("button", name="Back to live", exact=True).click()
                page.get_by_role("button", name=re.compile("^Play")).first.click()
            row = {
                "seconds": round(passed, 1),
                "server_mb": round(resident(server.pid), 1),
                "page_mb": round(heap(page), 1),
                "episodes": episodes(page),
            }
            rows.append(row)
            writer.writerow(row)
            file.flush()
            page.wait_for_timeout(1000 * EVERY)
        browser.close()
    return rows


def ask(page: Page, text: str) -> None:
    """Type a question."""
    named = page.locator("label", has_text=re.compile("^As text$"))
    field = named.locator("xpath=ancestor::*[.//input][1]//input")
    field.fill(text)
    field.press("Enter")


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
    """The page's own heap in megabytes, after it was tidied."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return used / 1e6


def report(rows: list[dict[str, float]]) -> int:
    """Print how memory went, and return 1 if the last third is more than a tenth above the first.

    The first minute is left out: the world is built in it.
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
