"""A real server in a process of its own, and a real browser to look at it."""

from __future__ import annotations

import contextlib
import io
import math
import re
import shutil
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.processes import started

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]
SIZE = {"width": 1180, "height": 760}
SHARPNESS = 0.3
"""Pixels drawn for each of the scene's on the page: software draws them."""
PATIENCE = 60_000
"""Milliseconds: the machine may have other things to do."""

needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium is here; on Debian: apt install chromium"
)


@contextlib.contextmanager
def playground(*words: str) -> Iterator[str]:
    """`goalsets play` as a user runs it, on a free port; it must end in order at Ctrl-C."""
    says, one = r"open (\S+) in a browser", {"OMP_NUM_THREADS": "1"}
    with started("play", *words, says=says, stop=signal.SIGINT, variables=one) as server:
        yield server.url
    assert "the playground has ended" in server.out


class Tab:
    """One tab, and how to find things in it."""

    def __init__(self, browser: Any, url: str, size: dict[str, int] | None = None) -> None:
        self.page = browser.new_page(viewport=size or SIZE)
        self.page.set_default_timeout(PATIENCE)
        self.asked: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"{url}/?fixedDpr={SHARPNESS}")

    def ready(self) -> Tab:
        self.button("Play").wait_for()
        return self

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def chip(self, group: str) -> Any:
        return self.page.get_by_role("button", name=re.compile(rf"^(✓ )?{group} ·"))

    def field(self, label: str) -> Any:
        named = self.page.locator("label", has_text=re.compile(rf"^{label}$"))
        return named.locator("xpath=ancestor::*[.//input][1]//input[not(@type='hidden')]")

    def say(self, text: str) -> None:
        self.type("As text", text)

    def sees(self, text: str | re.Pattern[str]) -> None:
        self.page.get_by_text(text).first.wait_for()

    def asks(self, text: str) -> None:
        """Wait until the query is `text`."""
        self.page.wait_for_function(
            "text => [...document.querySelectorAll('input')].some(i => i.value === text)",
            arg=text,
        )

    def is_content(self) -> None:
        """Wait until it complains of nothing."""
        self.page.locator("[data-problem]").first.wait_for(state="detached")

    def choose(self, label: str, option: str | re.Pattern[str]) -> None:
        """Choose from a dropdown."""
        self.page.get_by_role("combobox", name=label, exact=True).click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def type(self, label: str, text: str) -> None:
        self.field(label).fill(text)
        self.field(label).press("Enter")

    def shows(self, least: int) -> None:
        """Wait until the scene is drawn: its picture has more colours than an empty page."""
        until = time.monotonic() + PATIENCE / 1000
        while (seen := colours(self.picture())) <= least:
            assert time.monotonic() < until, f"only {seen} colours are to be seen"
            self.page.wait_for_timeout(500)

    def picture(self) -> np.ndarray:
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"))

    def canvas(self) -> dict[str, float]:
        return self.page.locator("canvas").first.bounding_box()

    def drag(self, start: tuple[float, float], by: tuple[float, float]) -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        self.page.wait_for_timeout(300)
        mouse.down()
        for part in (0.25, 0.5, 0.75, 1.0):
            mouse.move(start[0] + part * by[0], start[1] + part * by[1])
            self.page.wait_for_timeout(100)
        mouse.up()


def project(
    point: np.ndarray, camera: np.ndarray, look: np.ndarray, box: dict[str, float], fov: float
) -> tuple[float, float]:
    """Where a point of the scene is on the page."""
    forward = (look - camera) / np.linalg.norm(look - camera)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    seen = point - camera
    scale = box["height"] / 2 / math.tan(fov / 2) / float(seen @ forward)
    x = box["x"] + box["width"] / 2 + scale * float(seen @ right)
    return x, box["y"] + box["height"] / 2 - scale * float(seen @ up)


def colours(picture: np.ndarray) -> int:
    """How many colours the middle of a picture has: an empty page has few."""
    height, width = picture.shape[:2]
    middle = picture[height // 5 : -height // 5, width // 3 : -width // 3]
    return len(np.unique(middle.reshape(-1, 3), axis=0))
