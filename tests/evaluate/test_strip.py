"""A strip shows the start and how each question of a chain ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from goalsets.evaluate.strip import draw_strip
from tests.planned import SWAP, planned_run

pytestmark = pytest.mark.full


def test_a_picture_for_the_start_and_each_question(tmp_path: Path) -> None:
    run = planned_run(tmp_path)
    strip = draw_strip(run, SWAP, seed=0)
    assert strip.asked
    assert not strip.success  # six steps of training teach nothing
    assert not strip.asked[-1].done
    pictures = min(1 + len(strip.asked), 10)
    across, down = strip.image.width // 300, strip.image.height // 366
    assert across * (down - 1) < pictures <= across * down
    two = draw_strip(run, SWAP, seed=0, most=1)
    assert two.image.width == 600
    assert [a.text for a in two.asked] == [a.text for a in strip.asked]  # the same episode
