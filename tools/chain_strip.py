"""A strip of pictures of one episode by a chain of questions: how each question ended.

    python tools/chain_strip.py RUN docs/assets/swap.jpg --task-id 4 --seed 3

The first picture is the start, the others are the moments at which a question was answered (blue)
or given up (orange). The goal is laid into the corner of each.
"""

from __future__ import annotations

import argparse
import os
import textwrap
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

os.environ.setdefault("MUJOCO_GL", "egl")

from goalsets.core import Query
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.camera import draw_world, picture_of_goal
from goalsets.evaluate.chains import WatchedPlanning
from goalsets.evaluate.rollout import EpisodeSpec, run_episode
from goalsets.runs.run import Run

SIZE, HEAD, COLUMNS = 300, 66, 5
DONE, GIVEN_UP, START = "#0072B2", "#D55E00", "#777777"


def main() -> None:
    """Run the episode and draw the strip."""
    parser = argparse.ArgumentParser(description="Draw an episode by a chain of questions.")
    parser.add_argument("run", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--task-id", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=9, help="pictures besides the start")
    asked = parser.parse_args()
    run = Run.open(asked.run)
    world = TASKS[run.config.task].open(render=True)
    policy = WatchedPlanning(run.load()[0], run.planner())
    spec = EpisodeSpec(run.config.task, asked.task_id, asked.seed, trace=True)
    result = run_episode(world, policy, spec)
    assert result.trace is not None
    states, goal = result.trace["observations"], result.trace["goal"]
    policy.finish(states[-1])
    print(f"{'reached' if result.success else 'not reached'} after {result.steps} steps")
    query = TASKS[run.config.task].query
    inset = picture_of_goal(world, goal, query)
    cells = [_cell(world, states[0], goal, query, inset, "the start", START)]
    for step in policy.asked[: asked.most]:
        words = f"step {step.last}: {step.text.split(': about')[0]}"
        colour = DONE if step.done else GIVEN_UP
        cells.append(_cell(world, states[step.last], goal, query, inset, words, colour))
    _lay_out(cells).save(asked.picture, quality=88)
    print(f"{asked.picture}: {len(cells)} pictures, {asked.picture.stat().st_size:,} bytes")


def _cell(world, state, goal, query: Query, inset, words: str, colour: str) -> Image.Image:  # noqa: ANN001
    if world.can("put"):
        world.put(np.asarray(state))
    world.show_goal(goal, query)
    seen = Image.fromarray(draw_world(world, goal, query, inset)).resize((SIZE - 8, SIZE - 8))
    canvas = Image.new("RGB", (SIZE, SIZE + HEAD), "white")
    draw = ImageDraw.Draw(canvas)
    draw.rectangle((2, HEAD, SIZE - 3, HEAD + SIZE - 5), fill=colour)
    canvas.paste(seen, (4, HEAD + 2))
    text = "\n".join(textwrap.wrap(words, 38)[:3])
    draw.text((6, 6), text, fill=colour, font=ImageFont.load_default(15))
    return canvas


def _lay_out(cells: list[Image.Image]) -> Image.Image:
    rows = -(-len(cells) // COLUMNS)
    across = min(COLUMNS, len(cells))
    canvas = Image.new("RGB", (across * SIZE, rows * (SIZE + HEAD)), "white")
    for number, cell in enumerate(cells):
        row, column = divmod(number, COLUMNS)
        canvas.paste(cell, (column * SIZE, row * (SIZE + HEAD)))
    return canvas


if __name__ == "__main__":
    main()
