"""Show a goal set: one state that a robot reached, and several questions about it.

`python examples/02_what_a_goal_set_is.py` draws docs/assets/goal-sets.png in a few seconds, and
writes goal-sets.png to the current directory.
"""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from goalsets import GoalSet, Query
from goalsets.envs.tabletop import record_play, render_state, tabletop_layout

QUESTIONS = ("all", "cube_pos & eff_pos", "eff_pos", "cube_pos")
EPISODES, LENGTH = 2_000, 200
SHOWN = 24
"""How many states of a goal set the picture lays over each other."""


def main():
    layout = tabletop_layout(num_blocks=1)
    print("1. A scripted robot plays on a table: it moves itself and blocks, without a goal.")
    start = time.perf_counter()
    states = record_play(num_episodes=EPISODES, episode_length=LENGTH, seed=0).observations
    seconds = time.perf_counter() - start
    print(f"   {EPISODES * LENGTH:,} transitions of {layout.dim} numbers each, in {seconds:.1f} s.")

    print("2. Take one state that it reached, and ask for it in different ways.")
    reference = apart(states, layout)
    sets = {text: GoalSet(reference, Query.parse(text, layout)) for text in QUESTIONS}
    answers = {text: goals.contains(states) for text, goals in sets.items()}
    print(f"   {'question':22} {'looks at':>14}   {'episodes that pass through it'}")
    for text, inside in answers.items():
        share = inside.any(axis=1).mean()
        looks = f"{len(sets[text].query)} coordinates"
        print(f"   {text:22} {looks:>14}   {share:7.1%}  {'#' * round(40 * share)}")

    print("3. Draw the states that answer each question.")
    draw(sets, states, answers, Path("goal-sets.png"))
    print("   goal-sets.png")
    print()
    print(
        "Almost no episode passes through a whole state that another one reached. Ask only for the"
    )
    print(
        "variables that matter, and much of the same log shows how to get there. Goal-Set Hindsight"
    )
    print("Relabeling trains on these examples. docs/goal-sets.md explains it on one page.")


def apart(states, layout):
    """A state with the block near the table's middle and the gripper well away from it."""
    gripper = states[:, :, list(layout.group("eff_pos").indices)]
    block = states[:, :, list(layout.group("block0_pos").indices)]
    away = np.abs(np.linalg.norm(gripper - block, axis=-1) - 1.5)
    middle = np.linalg.norm(block - [0.3, -0.4, 0.2], axis=-1)
    return states.reshape(-1, layout.dim)[int((away + middle).argmin())]


def draw(sets, states, answers, path):
    rng = np.random.default_rng(0)
    figure, axes = plt.subplots(1, len(sets) + 1, figsize=(2.5 * (len(sets) + 1), 4.0))
    reference = next(iter(sets.values())).reference
    pictures = [("a state that was reached", render_state(reference))]
    for text, goals in sets.items():
        # One state from each episode, at any time: neighbours in time would all look alike.
        episodes = np.flatnonzero(answers[text].any(axis=1))[:SHOWN]
        times = [int(rng.choice(np.flatnonzero(answers[text][e]))) for e in episodes]
        found = states[episodes, times]
        views = [render_state(s, goal=reference, query=goals.query) for s in found]
        # All episodes that pass through the set, not only those in the picture.
        count = int(answers[text].any(axis=1).sum())
        title = f"“{text}”\n{count:,} of {len(states):,} episodes get there"
        pictures.append((title, overlay(views)))
    for axis, (title, picture) in zip(axes, pictures, strict=True):
        axis.imshow(picture)
        axis.set_title(title, fontsize=9)
        axis.set_axis_off()
    figure.tight_layout()
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)


def overlay(pictures):
    """Lay pictures over each other: each pixel blends its mean and its darkest value."""
    stack = np.stack(pictures).astype(np.float32)
    return (0.7 * stack.mean(axis=0) + 0.3 * stack.min(axis=0)).astype(np.uint8)


if __name__ == "__main__":
    main()
