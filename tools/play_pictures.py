"""Take the pictures of the playground that the docs show: docs/assets/play*.png.

    python tools/play_pictures.py

Needs Chromium; Debian calls the package chromium. A screen and a GPU are not needed.
"""

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
ASSETS = Path(__file__).resolve().parent.parent / "docs" / "assets"
SIZE = {"width": 1360, "height": 840}
PATIENCE = 300_000


def main() -> None:
    """Take all pictures."""
    with tab("demo") as page:
        page.get_by_role("button", name=re.compile("^eff_pos ·")).click()
        page.get_by_role("button", name=re.compile("^✓ eff_pos")).wait_for()
        keep(page, "play.png")
        ask(page, "block0_pos")
        play(page)
        keep(page, "play-reached.png")
        ask(page, "cube_poze")
        page.locator("[data-problem]").first.wait_for()
        keep(page, "play-question.png", {"x": 0, "y": 60, "width": 332, "height": 700})


@contextlib.contextmanager
def tab(*runs: str) -> Iterator[Page]:
    """A tab of a playground, ready to play."""
    command = [sys.executable, "-m", "goalsets", "play", *runs, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = next(f[1] for line in server.stdout if (f := re.search(r"open (\S+) in", line)))
        try:
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                page = browser.new_page(viewport=SIZE)
                page.set_default_timeout(PATIENCE)
                page.goto(url)
                page.get_by_role("button", name="Play", exact=True).wait_for()
                with contextlib.suppress(Exception):  # viser warns where there is no GPU
                    page.locator(".mantine-Notification-closeButton").first.click(timeout=5_000)
                yield page
                browser.close()
        finally:
            server.terminate()


def ask(page: Page, text: str) -> None:
    """Type a question."""
    named = page.locator("label", has_text=re.compile("^As text$"))
    field = named.locator("xpath=ancestor::*[.//input][1]//input")
    field.fill(text)
    field.press("Enter")


def play(page: Page) -> None:
    """Play an episode to its end."""
    page.get_by_role("button", name="max", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_text(re.compile("^Reached at step [1-9]|time is up")).first.wait_for()


def keep(page: Page, name: str, clip: dict[str, float] | None = None) -> None:
    """Write a picture."""
    page.wait_for_timeout(4_000)
    seen = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    seen.save(ASSETS / name, optimize=True)
    print(ASSETS / name, (ASSETS / name).stat().st_size // 1000, "kB")


if __name__ == "__main__":
    main()
