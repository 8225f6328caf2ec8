"""The gallery says what the table of tasks says, and has its pictures."""

from __future__ import annotations

import runpy
from pathlib import Path

from goalsets.envs.tasks import TASKS

ROOT = Path(__file__).parents[2]
GALLERY = runpy.run_path(str(ROOT / "tools" / "gallery.py"))


def test_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert GALLERY["page"]() == written, "run: python tools/gallery.py --text"


def test_every_task_and_picture_is_there() -> None:
    written = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in written for name in TASKS)
    pictures = [GALLERY["PICTURES"] / f"{family.name}.png" for family in GALLERY["FAMILIES"]]
    assert {task.family for _, task in TASKS.items()} == {path.stem for path in pictures}
    assert sum(path.stat().st_size for path in pictures) < 1_500_000
