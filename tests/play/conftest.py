"""Setups on tiny runs, made once for all tests of a process, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goalsets.play.setup import Setup, open_setup
from tests.play.browser import CHROMIUM, FLAGS
from tests.play.runs import tiny_run

TABLETOP = "tabletop-single-v0"


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("play")
    tiny_run(path, TABLETOP, name="gcdl")
    return path


@pytest.fixture(scope="session")
def setup(place: Path) -> Setup:
    return open_setup([place / "gcdl"], data=place / TABLETOP)


@pytest.fixture(scope="session")
def two(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Setup:
    other = tiny_run(tmp_path_factory.mktemp("another"), TABLETOP, "gcbc", "gcbc")
    return open_setup([place / "gcdl", other.path], data=place / TABLETOP)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()
