"""A playground in its own process, and a tab of a real browser that shows it."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from playwright.sync_api import Page, ViewportSize, sync_playwright

FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
"""Draw in software: a screen and a GPU are not needed."""
PATIENCE = 300_000
"""Milliseconds."""


@dataclass(frozen=True)
class Tab:
    """A page, and the process of its server."""

    page: Page
    server: int

    def press(self, name: str) -> None:
        """Click a button."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def ask(self, text: str) -> None:
        """Type a question."""
        named = self.page.locator("label", has_text=re.compile("^As text$"))
        field = named.locator("xpath=ancestor::*[.//input][1]//input")
        field.fill(text)
        field.press("Enter")


@contextlib.contextmanager
def open_tab(*runs: str, size: ViewportSize, script: str = "") -> Iterator[Tab]:
    """Start a playground and open it, after running a script in the page; ready to play."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("there is no Chromium; on Debian: apt install chromium")
    command = [sys.executable, "-m", "goalsets", "play", *runs, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = next(f[1] for line in server.stdout if (f := re.search(r"open (\S+) in", line)))
        try:
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
                page = browser.new_page(viewport=size)
                page.set_default_timeout(PATIENCE)
                page.add_init_script(script)
                page.goto(url)
                page.get_by_role("button", name="Play", exact=True).wait_for()
                with contextlib.suppress(Exception):  # viser warns if there is no GPU
                    page.locator(".mantine-Notification-closeButton").first.click(timeout=5_000)
                yield Tab(page, server.pid)
                browser.close()
        finally:
            server.terminate()
