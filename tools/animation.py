"""Film one checkpoint that is asked three questions about one reference state.

    python tools/animation.py [RUN] [GIF]

The reference is a held-out state with the hand and the cube apart. Reference and start are the
first for which all three questions succeed. So the film shows a success, and not how often there is
one; results/report has the rates. Needs the data of the task.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

os.environ.setdefault("MUJOCO_GL", "egl")

from goalsets.core import GoalSet, Query
from goalsets.data.paths import data_dir
from goalsets.data.store import Store
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.ask import ask
from goalsets.runs.run import Run

QUESTIONS = {
    "cube_pos": "the cube there",
    "ee_pos": "the hand there",
    "ee_pose": "the hand there, turned so",
}
SIZE, HEAD, HOLD, EVERY = 230, 42, 12, 3
LARGEST = 3_000_000


def main(run: str = "demo", path: str = "docs/assets/three-questions.gif") -> None:
    """Find an episode of each question from one start, and film them side by side."""
    opened = Run.open(run)
    policy, _ = opened.load()
    task, layout = opened.config.task, policy.layout
    world = TASKS[task].open(render=True)
    states = np.asarray(Store.open(data_dir() / task).validation.observations)
    hand, cube = (states[:, layout.group(name).indices] for name in ("eff_pos", "block0_pos"))
    # A hand on the left and a cube on the right, on the table.
    apart = (hand[:, 1] < -0.8) & (cube[:, 1] > 0.5) & (cube[:, 2] < 0.3)
    print(f"{apart.sum():,} states to choose from")
    for seed, reference in enumerate(states[apart][::7]):
        goals = [GoalSet(reference, Query.parse(text, layout)) for text in QUESTIONS]
        start = {"task": task, "task_id": 1 + seed % 5, "seed": seed}
        answers = [ask(world, policy, goal, **start) for goal in goals]
        # An episode of a few steps would show nothing.
        if all(answer.success and answer.steps > 10 for answer in answers):
            print(f"{start}: reached after {', '.join(str(a.steps) for a in answers)} steps")
            _film(world, goals, [answer.observations for answer in answers], Path(path))
            return
    raise SystemExit("there is no start from which all three are reached.")


def _film(world, goals, episodes, path) -> None:  # noqa: ANN001
    shown = _render(world, goals[0].reference, goals[0])
    films = []
    for goal, episode in zip(goals, episodes, strict=True):
        states = [*episode[:-1:EVERY], episode[-1]]
        films.append([_render(world, state, goal) for state in states])
    frames = [_frame(shown, films, step) for step in range(max(map(len, films)) + HOLD)]
    first, *others = (frame.quantize(255) for frame in frames)
    path.parent.mkdir(parents=True, exist_ok=True)
    first.save(path, save_all=True, append_images=others, duration=90, loop=0)
    size = path.stat().st_size
    assert size < LARGEST, f"{size:,} bytes are too many"
    print(f"{path}: {len(frames)} pictures, {size:,} bytes")


def _render(world, state, goal) -> Image.Image:  # noqa: ANN001
    world.put(state)
    world.show_goal(goal.reference, goal.query)
    return Image.fromarray(world.render(200)).resize((SIZE - 4, SIZE - 4))


def _frame(reference: Image.Image, films: list[list[Image.Image]], step: int) -> Image.Image:
    canvas = Image.new("RGB", ((1 + len(films)) * SIZE, SIZE + HEAD), "white")
    draw = ImageDraw.Draw(canvas)
    draw.rectangle((0, HEAD, SIZE - 1, HEAD + SIZE - 1), fill="#E69F00")
    canvas.paste(reference, (2, HEAD + 2))
    draw.text((6, 3), "the reference state", fill="black", font=_font(14))
    draw.text((6, 22), "a state that was never trained on", fill="#555555", font=_font(11))
    for column, (text, film) in enumerate(zip(QUESTIONS, films, strict=True), start=1):
        done = step >= len(film) - 1
        canvas.paste(film[min(step, len(film) - 1)], (column * SIZE + 2, HEAD + 2))
        draw.text((column * SIZE + 6, 3), text, fill="black", font=_font(14))
        note = f"{QUESTIONS[text]}{': reached' if done else ''}"
        draw.text(
            (column * SIZE + 6, 22), note, fill="#0072B2" if done else "#555555", font=_font(11)
        )
        if done:
            box = (column * SIZE, HEAD, (column + 1) * SIZE - 1, HEAD + SIZE - 1)
            draw.rectangle(box, outline="#0072B2", width=3)
    return canvas


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    import matplotlib

    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(str(fonts / "DejaVuSans.ttf"), size)


if __name__ == "__main__":
    main(*sys.argv[1:])
