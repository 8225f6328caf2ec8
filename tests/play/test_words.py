"""Names on the page: one word for one thing, short enough to be read whole."""

from __future__ import annotations

import re
from html import unescape

import pytest

from goalsets.core import Group
from goalsets.envs.tasks import TASKS
from goalsets.play.dress import dressing
from goalsets.play.grips import grips_of
from goalsets.play.question import ready_made
from goalsets.play.words import meaning

TASKS_WITH_BLOCKS = ("cube-single-play-v0", "cube-double-play-v0", "scene-play-v0")


@pytest.mark.parametrize("task", [*TASKS_WITH_BLOCKS, "tabletop-single-v0", "tabletop-double-v0"])
def test_a_block_is_called_as_questions_call_it(task: str) -> None:
    for group in TASKS[task].layout.groups:
        assert "cube" not in meaning(group)
    grips = [grip.name for grip in grips_of(TASKS[task])]
    blocks = {g.rpartition("_")[0] for g in TASKS[task].layout.by_name if g.startswith("block")}
    assert blocks < set(grips)
    assert not any("cube" in name for name in grips)


def test_a_meaning_keeps_what_the_name_does_not_say() -> None:
    groups = TASKS["cube-single-play-v0"].layout.by_name
    assert meaning(groups["block0_pos"]) == "position"
    assert meaning(groups["block0_yaw"]) == "heading"
    assert meaning(groups["eff_yaw"]) == "heading of the gripper"
    assert meaning(Group("mine", (0,))) == ""


@pytest.mark.parametrize("task", [*TASKS_WITH_BLOCKS, "puzzle-3x3-play-v0", "tabletop-single-v0"])
def test_ready_made_questions_are_named_by_what_they_ask_if_that_is_short(task: str) -> None:
    ready = ready_made(TASKS[task])
    labels = [each.label for each in ready]
    assert len(set(labels)) == len(labels)
    assert all(len(label) <= 34 for label in labels)
    assert labels[-1] == "everything"
    if task == "cube-single-play-v0":
        assert {"block0_pos", "eff_pos"} <= set(labels)


def test_the_dressing_carries_style_and_script_whole() -> None:
    page = dressing()
    found = re.fullmatch(r'<style onload="([^"<]*)">([^<]*)</style>', page, re.DOTALL)
    assert found is not None  # a quote or a tag inside would end it early
    assert "MutationObserver" in unescape(found[1])
    assert "[data-section]" in found[2]
