"""A strip of pictures of one episode with a chain of questions: how each question ended.

The first picture shows the start. The others show the moments at which a question was answered
(blue) or given up (orange). Each has the goal in its corner.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from goalsets.envs.tasks import TASKS
from goalsets.evaluate.camera import Picture, draw_world, picture_of_goal
from goalsets.evaluate.chains import AskedStep, WatchedPlanning
from goalsets.evaluate.rollout import EpisodeSpec, run_episode
from goalsets.runs.run import Run

if TYPE_CHECKING:
    from PIL import Image

_SIZE, _HEAD, _COLUMNS = 300, 66, 5
_DONE, _GIVEN_UP, _START = "#0072B2", "#D55E00", "#777777"


@dataclass(frozen=True)
class Strip:
    """An episode with a chain of questions, and its pictures."""

    image: Image.Image
    asked: tuple[AskedStep, ...]
    """The questions, in the order in which they were asked."""
    success: bool
    """Whether the official goal was reached, as the environment judges."""
    steps: int


def draw_strip(run: Run, task_id: int, seed: int, most: int = 9) -> Strip:
    """Run one episode of an official goal with a chain of questions, and draw how each one ended.

    Args:
        run: The run; its planner is learned if it has none yet.
        task_id: The official goal.
        seed: The seed of the start.
        most: The largest number of pictures after that of the start.

    Raises:
        CameraError: Nothing can be drawn on this machine.
    """
    task = TASKS[run.config.task]
    world = task.open(render=True)
    policy = WatchedPlanning(run.load()[0], run.planner())
    spec = EpisodeSpec(run.config.task, task_id, seed, trace=True)
    result = run_episode(world, policy, spec)
    assert result.trace is not None  # the specification requested it
    states, goal = result.trace["observations"], result.trace["goal"]
    policy.finish(states[-1])
    inset = picture_of_goal(world, goal, task.query)

    def picture(row: int) -> Picture:
        if world.can("put"):
            world.put(np.asarray(states[row]))
        world.show_goal(goal, task.query)
        return draw_world(world, goal, task.query, inset)

    cells = [_cell(picture(0), "the start", _START)]
    for step in policy.asked[:most]:
        words = f"step {step.last}: {step.text.split(': about')[0]}"
        cells.append(_cell(picture(step.last), words, _DONE if step.done else _GIVEN_UP))
    return Strip(_lay_out(cells), policy.asked, result.success, result.steps)


def _cell(seen: Picture, words: str, colour: str) -> Image.Image:
    from PIL import Image, ImageDraw, ImageFont

    canvas = Image.new("RGB", (_SIZE, _SIZE + _HEAD), "white")
    draw = ImageDraw.Draw(canvas)
    draw.rectangle((2, _HEAD, _SIZE - 3, _HEAD + _SIZE - 5), fill=colour)
    canvas.paste(Image.fromarray(seen).resize((_SIZE - 8, _SIZE - 8)), (4, _HEAD + 2))
    text = "\n".join(textwrap.wrap(words, 38)[:3])
    draw.text((6, 6), text, fill=colour, font=ImageFont.load_default(15))
    return canvas


def _lay_out(cells: list[Image.Image]) -> Image.Image:
    from PIL import Image

    rows = -(-len(cells) // _COLUMNS)
    across = min(_COLUMNS, len(cells))
    canvas = Image.new("RGB", (across * _SIZE, rows * (_SIZE + _HEAD)), "white")
    for number, cell in enumerate(cells):
        row, column = divmod(number, _COLUMNS)
        canvas.paste(cell, (column * _SIZE, row * (_SIZE + _HEAD)))
    return canvas
