"""Take the pictures of the playground that the docs show: docs/assets/play*.png.

    python tools/play_pictures.py
    python tools/play_pictures.py --compare RUN
    python tools/play_pictures.py --plan RUN [--step STEP]
    python tools/play_pictures.py --logs [PLACE]

With --compare, it takes only the picture of two policies: the shipped model beside a run that was
trained with `goalsets train cube-single-noisy-v0 --scheme her-full`. With --plan, it takes only the
picture of a plan: a run on cube-double with a planner swaps its cubes. With --logs, it takes only
the picture of recorded episodes of an arm; it makes their log and run first, unless PLACE has them.
Needs Chromium (Debian's package chromium), but no screen and no GPU.
"""

import io
import re
import sys
import tempfile
from pathlib import Path

import arm_log
from PIL import Image, ImageOps
from playground_tab import Tab, open_tab
from playwright.sync_api import FloatRect, ViewportSize

ASSETS = Path(__file__).resolve().parent.parent / "docs" / "assets"
SIZE: ViewportSize = {"width": 1360, "height": 840}
SMALL: ViewportSize = {"width": 800, "height": 600}


def main() -> None:
    """Take the pictures that need only the shipped model."""
    with open_tab("demo", size=SIZE) as tab:
        tab.page.get_by_role("button", name=re.compile("^eff_pos ·")).click()
        tab.page.get_by_role("button", name=re.compile("^✓ eff_pos")).wait_for()
        keep(tab, "play.png")
        tab.ask("block0_pos")
        play(tab)
        keep(tab, "play-reached.png")
        tab.ask("cube_poze")
        tab.page.locator("[data-problem]").first.wait_for()
        keep(tab, "play-question.png", {"x": 0, "y": 60, "width": 332, "height": 700})
        tab.ask("block0_pos")
        tab.press("Reset")
        tab.page.set_viewport_size(SMALL)
        keep(tab, "play-small.png")


def compare(other: str) -> None:
    """Take the picture of the shipped model beside another run, when both episodes have ended."""
    with open_tab("demo", other, size=SIZE) as tab:
        play(tab)
        tab.page.get_by_text("time is up").first.wait_for()
        keep(tab, "play-compare.png")


def plan(*words: str) -> None:
    """Take the picture of a planned swap, when its first step is done.

    Args:
        words: The run, and options of `goalsets play`.
    """
    with open_tab(*words, size=SIZE) as tab:
        choose(tab, "Choose exactly", "Official")
        choose(tab, "Where it starts, when it stops", "Start of task")
        tab.page.locator("label", has_text=re.compile("^Plan$")).click()
        tab.page.locator("[data-step=due]").wait_for()
        tab.press("Play")
        tab.page.locator("[data-step=done]").first.wait_for()
        tab.press("Pause")
        keep(tab, "play-plan.png")


def logs(place: str = "") -> None:
    """Take the picture of recorded episodes, in the first of three motions."""
    here = Path(place or tempfile.mkdtemp())
    if not (here / "run").exists():
        arm_log.main(str(here))
    with open_tab(str(here / "run"), "--model", str(arm_log.MODEL), size=SIZE) as tab:
        fill(tab, "Step", "30")
        tab.page.get_by_text("step 30 of 90").first.wait_for()
        tab.press("This step")
        tab.page.get_by_text("step 30 of episode 0").first.wait_for()
        fill(tab, "Step", "9")
        tab.page.get_by_text("step 9 of 90").first.wait_for()
        tab.ask("tool_pos & wrist_3.pos")
        tab.page.get_by_text(re.compile("of the training data answer it")).wait_for()
        tab.page.get_by_role("heading").first.scroll_into_view_if_needed()
        tab.page.mouse.move(600, 760)  # away from widgets that show a hint
        keep(tab, "play-logs.png")


def fill(tab: Tab, label: str, text: str) -> None:
    """Write a number into a field."""
    named = tab.page.locator("label", has_text=re.compile(f"^{label}$"))
    field = named.locator("xpath=ancestor::*[.//input][1]//input[not(@type='hidden')]")
    field.fill(text)
    field.press("Enter")


def choose(tab: Tab, folder: str, label: str) -> None:
    """Choose task 4, the swap, from a list in a folder that is closed."""
    tab.page.get_by_text(folder).click()
    tab.page.get_by_role("combobox", name=label, exact=True).click()
    tab.page.get_by_role("option", name="4", exact=True).click()
    tab.page.get_by_text(folder).click()


def play(tab: Tab) -> None:
    """Play an episode to its end."""
    tab.press("max")
    tab.press("Play")
    tab.page.get_by_text(re.compile("Reached at step [1-9]|time is up")).first.wait_for()


def keep(tab: Tab, name: str, clip: FloatRect | None = None) -> None:
    """Write a picture."""
    tab.page.wait_for_timeout(4_000)
    seen = Image.open(io.BytesIO(tab.page.screenshot(clip=clip))).convert("RGB")
    ImageOps.posterize(seen, 6).save(ASSETS / name, optimize=True)  # a smaller file
    print(ASSETS / name, (ASSETS / name).stat().st_size // 1000, "kB")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--compare"]:
        compare(*sys.argv[2:])
    elif sys.argv[1:2] == ["--plan"]:
        plan(*sys.argv[2:])
    elif sys.argv[1:2] == ["--logs"]:
        logs(*sys.argv[2:])
    else:
        main()
