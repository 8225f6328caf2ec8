"""Write docs/gallery.md and its pictures from the table of tasks: `python tools/gallery.py`.

Pictures need OpenGL (MUJOCO_GL=egl without a display); `--text` writes only the page.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Query, StateLayout, print_indices
from goalsets.core.term import Term
from goalsets.envs.tasks import TASKS, Task

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = DOCS / "assets" / "gallery"
SIZE = 240
"""Width of a picture in pixels."""


@dataclass(frozen=True)
class Family:
    """The gallery's own text on a family of tasks; the rest comes from the table."""

    name: str
    title: str
    text: str
    shown: str
    """The task whose layout is printed."""
    pictures: Sequence[tuple[str, bool]]
    """Tasks to draw side by side, and whether from close by."""
    questions: Sequence[tuple[str, str]]
    """Questions, and their meaning."""


FAMILIES = (
    Family(
        "cube",
        "Cubes on a table",
        "An arm moves one to eight cubes; a faint cube marks a target. Cube `i` takes nine "
        "coordinates from 19 + 9 `i` on.",
        "cube-single-play-v0",
        (
            ("cube-single-play-v0", False),
            ("cube-double-play-v0", False),
            ("cube-quadruple-play-v0", False),
        ),
        (
            ("task", "the cube here, with the arm anywhere"),
            ("cube_pose", "the cube here, and turned this way"),
            ("cube_pos:2cm", "the same, twice as exactly"),
            ("ee_pose_gripper", "the gripper here, turned this way, as open as this"),
            ("[21]:2cm", "the cube this high above the table, anywhere"),
            ("all - joint_vel", "everything as in the reference, at any speed"),
        ),
    ),
    Family(
        "scene",
        "A scene with a drawer, a window and locks",
        "Two buttons lock and unlock the drawer and the window; a cube can go into the drawer.",
        "scene-play-v0",
        (("scene-play-v0", False),),
        (
            ("task", "cube, locks, drawer and window, all of them"),
            ("drawer_pos", "the drawer this far open, everything else in any state"),
            ("drawer_pos & window_pos", "both this far open"),
            ("buttons", "both locks like this"),
            ("cube_pos & drawer_pos", "the cube in the drawer, and the drawer shut"),
        ),
    ),
    Family(
        "puzzle",
        "Lights out",
        "Pressing a button also switches its neighbours. Button `i`, counted along the rows, takes "
        "four coordinates from 19 + 4 `i` on.",
        "puzzle-3x3-play-v0",
        (("puzzle-3x3-play-v0", False), ("puzzle-4x6-play-v0", False)),
        (
            ("task", "the whole pattern"),
            ("row0", "the first row alone"),
            ("button4_state", "one button"),
            ("buttons & ee_pos", "the pattern, and the hand here"),
        ),
    ),
    Family(
        "pointmaze",
        "A point in a maze",
        "The state is only a position, so a query can leave out little. In `teleport`, blue rings "
        "send the point to a white disc at random.",
        "pointmaze-medium-navigate-v0",
        (
            ("pointmaze-medium-navigate-v0", False),
            ("pointmaze-large-navigate-v0", False),
            ("pointmaze-giant-navigate-v0", False),
            ("pointmaze-teleport-navigate-v0", False),
        ),
        (
            ("task", "be here"),
            ("[0]", "be in this column of the maze"),
            ("pos:0.5", "be here, twice as exactly"),
        ),
    ),
    Family(
        "antmaze",
        "An ant in a maze",
        "Eight joints, four legs. The mazes are those of the point.",
        "antmaze-medium-navigate-v0",
        (
            ("antmaze-medium-navigate-v0", True),
            ("antmaze-medium-navigate-v0", False),
        ),
        (
            ("task", "be here"),
            ("torso_pose", "be here, at this height, facing this way"),
            ("root_xy & root_lin_vel", "pass here at this velocity"),
            ("posture", "stand like this, anywhere"),
            ("front_left_pos", "hold this leg like this"),
        ),
    ),
    Family(
        "humanoidmaze",
        "A humanoid in a maze",
        "Twenty-one joints. Only the head's height and the up direction show its height and lean.",
        "humanoidmaze-medium-navigate-v0",
        (
            ("humanoidmaze-medium-navigate-v0", True),
            ("humanoidmaze-large-navigate-v0", False),
        ),
        (
            ("task", "be here"),
            ("standing_there", "be here, on your feet"),
            ("standing", "stand, anywhere"),
            ("hands", "hold the hands like this"),
            ("root_xy & com_vel", "pass here at this velocity"),
        ),
    ),
    Family(
        "antsoccer",
        "An ant with a ball",
        "Only the ball counts officially: the ant may be anywhere.",
        "antsoccer-arena-navigate-v0",
        (
            ("antsoccer-arena-navigate-v0", True),
            ("antsoccer-arena-navigate-v0", False),
            ("antsoccer-medium-navigate-v0", False),
        ),
        (
            ("task", "the ball here"),
            ("with_ball", "the ball here, and the ant there"),
            ("ball_at_rest", "the ball here, at rest"),
            ("root_xy", "the ant here, with the ball anywhere"),
        ),
    ),
    Family(
        "tabletop",
        "Tabletop, for tests and teaching",
        "goalsets' own small world: from above and, below, from the side. A learner solves it in "
        "seconds.",
        "tabletop-single-v0",
        (("tabletop-single-v0", False), ("tabletop-double-v0", False)),
        (
            ("task", "the block here"),
            ("cube_pose", "the block here, and turned this way"),
            ("ee_pos", "the gripper here"),
            ("all", "everything as in the reference"),
        ),
    ),
)


def page() -> str:
    """The text of the gallery."""
    lines = [
        "# Gallery: the tasks, and what one can ask of them",
        "",
        "<!-- Written by tools/gallery.py from the table of tasks: change it there. -->",
        "",
        "Every state-based environment of OGBench, and the tabletop. `goalsets tasks` lists them;",
        "`goalsets tasks show NAME --picture FILE` shows one and draws it. Tolerances are in",
        "observation units: with the unit `m x 10`, an observation counts tenths of a metre.",
        "",
    ]
    for family in FAMILIES:
        lines += [*_section(family), ""]
    return "\n".join(lines).rstrip() + "\n"


def _section(family: Family) -> Iterator[str]:
    tasks = [task for _, task in TASKS.items() if task.family == family.name]
    yield from (
        f"## {family.title}",
        "",
        f"![{family.title}](assets/gallery/{family.name}.png)",
        "",
    )
    yield from (family.text, "")
    yield from _table(("environment", "dimension", "steps", "data sets (H_max)"), _rows(tasks))
    layout = TASKS[family.shown].layout
    yield from ("", f"The layout of `{family.shown}`:", "")
    columns = ("group", "coordinates", "metric", "unit", "tolerance", "what it is")
    yield from _table(columns, _groups(layout))
    yield from ("", "Some questions:", "")
    yield from _table(("you ask", "it means", "looks at"), _questions(family, layout))


def _rows(tasks: Sequence[Task]) -> Iterator[Sequence[str]]:
    for env_id in dict.fromkeys(task.env_id for task in tasks):
        same = [task for task in tasks if task.env_id == env_id]
        data = ", ".join(f"`{task.name}` ({task.relabel_horizon})" for task in same)
        yield f"`{env_id}`", str(same[0].layout.dim), str(same[0].horizon), data


def _groups(layout: StateLayout) -> Iterator[Sequence[str]]:
    for group in layout.groups:
        unit = group.unit if group.scale == 1 else f"{group.unit} x {group.scale:g}"
        tolerance = "" if group.tolerance is None else f"{group.tolerance:.4g}"
        indices = print_indices(group.indices)
        yield f"`{group.name}`", indices, group.metric, unit, tolerance, group.description


def _questions(family: Family, layout: StateLayout) -> Iterator[Sequence[str]]:
    for text, meaning in family.questions:
        query = Query.parse(text, layout)
        shown = (
            f"`{text}`" if text != "task" else f"`task`, which is `{_short(query.terms, layout)}`"
        )
        yield shown, meaning, f"{len(query)} of {layout.dim}"


def _short(terms: Sequence[Term], layout: StateLayout) -> str:
    if len(terms) <= 5:
        return str(layout.task)
    return f"{terms[0].name} & … & {terms[-1].name}"


def _table(columns: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def draw_family(family: Family) -> NDArray[np.uint8]:
    """The pictures of a family side by side, on white."""
    from goalsets.envs.picture import draw

    drawn = [draw(TASKS[name], SIZE, near=near) for name, near in family.pictures]
    height = max(len(picture) for picture in drawn)
    parts: list[NDArray[np.uint8]] = []
    for picture in drawn:
        rest = height - len(picture)
        parts.append(np.pad(picture, ((0, rest), (0, 8), (0, 0)), constant_values=255))
    return np.concatenate(parts, axis=1)[:, :-8]


def write_picture(family: Family) -> None:
    """Draw a family into a file, with enough colours to keep the goals red."""
    from PIL import Image

    PICTURES.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(draw_family(family))
    image.save(PICTURES / f"{family.name}.png", optimize=True)
    print(f"drew {family.name}")


def main() -> None:
    """Write the page, and the pictures unless told otherwise."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--text", action="store_true", help="do not draw the pictures")
    parser.add_argument("--only", nargs="*", help="draw these families only")
    args = parser.parse_args()
    (DOCS / "gallery.md").write_text(page(), encoding="utf-8")
    for family in FAMILIES:
        if not args.text and (args.only is None or family.name in args.only):
            write_picture(family)


if __name__ == "__main__":
    main()
