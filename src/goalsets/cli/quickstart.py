"""`goalsets quickstart`: ask, train, ask again, and swap two cubes, in minutes."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rich.console import Console

    from goalsets.data.store import Store
    from goalsets.evaluate.rollout import EpisodeSpec
    from goalsets.runs.run import Run

Floats = NDArray[np.float32]
Picture = tuple[Path, str]
"""Where it is, and what it shows."""

TASK = "cube-single-noisy-v0"
EPISODES, STEPS = 100, 3_000
ASKED, ASKED_FIRST = 10, 5
"""Episodes for each question, to the new policy and to the shipped one."""
SWAPPER, SWAP = "two-cubes", 4
"""The shipped model for two cubes, and the number of the official goal that swaps them."""
SWAPS = 4
"""Episodes of the swap, asked at once and again by a chain."""
_PICTURES = 4


def quickstart(output: Path = Path("runs/quickstart")) -> None:
    """Ask a shipped policy three questions, train one from scratch, then swap two cubes by a chain.

    First, a model that comes with goalsets answers three questions. Then a scripted robot arm in
    MuJoCo collects noisy play, GCBC with goal-set relabeling is trained on it, and the new policy
    answers the same questions: the cube here, the cube up in the air, the hand there. Last, a
    model that comes with goalsets swaps two cubes by a chain of questions. All this takes a few
    minutes on two cores. If you stop it, the same command continues.

    Args:
        output: Where to put the data, the run and the pictures.
    """
    from rich.console import Console

    from goalsets.core.extras import check_installed

    for library in ("torch", "ogbench"):
        check_installed(library, "the quickstart", "train,sim")
    console = Console(stderr=True)
    start = time.perf_counter()
    print("A few minutes on two cores. If you stop it, the same command continues.")
    print()
    print("1. A policy that comes with goalsets moves a simulated robot arm. Three questions:")
    _ask_demo(console)
    print()
    print("2. Now a policy of your own, from nothing. A scripted arm plays with a cube:")
    print(f"   {EPISODES} episodes, without a goal.")
    store = _collect(output / "data", console)
    transitions = store.train.num_transitions
    numbers = store.trajectories.observations.shape[1]
    print(f"   {transitions:,} transitions; a state has {numbers} numbers.")
    print("   One policy learns from them. A state that was reached becomes the goal, and a")
    print("   random query says which of its coordinates matter.")
    run = _train(store, output / "run", console)
    print("   The same three questions to your policy:")
    questions = _questions(np.asarray(store.validation.observations), ASKED)
    _ask(run.path, questions, console)
    pictures = [_draw(run, questions, output / "answers.png")]
    print()
    print("3. Two cubes shall change places: one must first go aside. The shipped model for two")
    print("   cubes is asked for both places at once, and then by a chain of questions:")
    pictures.append(_swap(output / "swap.jpg", console))
    print()
    minutes = (time.perf_counter() - start) / 60
    print(f"That took {minutes:.1f} minutes. Your policy is in {run.path}. Pictures:")
    for path, content in filter(None, pictures):
        print(f"  {path!s:32}  {content}")
    print("Three things to try:")
    for command, content in (
        ("goalsets play", "point at a goal in a browser, and tick what matters"),
        (f'goalsets ask {run.path} --query "cube_pos & eff_yaw:20deg"', "ask your policy, filmed"),
        (f"goalsets ask {SWAPPER} --task-id 5 --plan", "stack two cubes by a chain, filmed"),
    ):
        print(f"  {command}\n      {content}")


def _ask_demo(console: Console) -> None:
    from goalsets.runs.run import Run

    demo = Run.open("demo")
    states = demo.bank()
    assert states is not None
    _ask(demo.path, _questions(states, ASKED_FIRST), console)


def _collect(place: Path, console: Console) -> Store:
    from goalsets.collect import collect
    from goalsets.collect.progress import CollectScreen
    from goalsets.data.importing import import_source
    from goalsets.data.sources.ogbench import OGBench
    from goalsets.data.store import INDEX, Store
    from goalsets.envs.tasks import TASKS

    if not (place / TASK / INDEX).exists():
        with CollectScreen(console) as screen:
            collect(TASK, episodes=EPISODES, output=place, watch=screen)
        source = OGBench(TASK, place, offline=True)
        import_source(source, place / TASK, TASKS[TASK].layout)
    return Store.open(place / TASK)


def _train(store: Store, place: Path, console: Console) -> Run:
    import torch

    from goalsets.cli.training_screen import TrainingScreen
    from goalsets.evaluate.alongside import Alongside
    from goalsets.runs.presets import resolve
    from goalsets.train.session import train
    from goalsets.workers import available_cores

    torch.set_num_threads(available_cores())
    config = resolve(TASK, overrides={"steps": STEPS})
    screen = TrainingScreen(console, "never", lambda run: Alongside(run, 1, 1))
    with screen:
        return train(config, store, place, resume=True, watch=screen)


def _ask(run: Path, questions: dict[str, list[EpisodeSpec]], console: Console) -> None:
    from goalsets.evaluate.rollout import roll_out
    from goalsets.evaluate.stats import Rate

    specs = [spec for asked in questions.values() for spec in asked]
    results = dict(roll_out(run, None, specs, say=console.print))
    for text, asked in questions.items():
        rate = Rate.of([results[spec].success for spec in asked])
        steps = [results[spec].steps for spec in asked if results[spec].success]
        often = f"{rate.successes} of {rate.episodes}"
        pace = f", in {sum(steps) / len(steps):.0f} steps on average" if steps else ""
        print(f"   {text:44} {asked[0].query:10} reached {often}{pace}")


def _questions(states: Floats, count: int) -> dict[str, list[EpisodeSpec]]:
    """`count` episodes of each question; goals are drawn from the held-out states `[N, D]`."""
    from goalsets.envs.tasks import TASKS
    from goalsets.evaluate.official import official_specs
    from goalsets.evaluate.rollout import EpisodeSpec

    layout, goals = TASKS[TASK].layout, len(TASKS[TASK].goals)
    height = states[:, layout.group("block0_pos").indices[2]]
    rng = np.random.default_rng(0)

    def ask(query: str, bank: np.ndarray) -> list[EpisodeSpec]:
        rows = rng.choice(len(bank), count, replace=False)
        return [
            EpisodeSpec(TASK, 1 + i % goals, 2_000_000 + i, query, tuple(map(float, bank[row])))
            for i, row in enumerate(rows)
        ]

    return {
        "put the cube there (the official goals)": official_specs(TASK, count // goals),
        "hold the cube up in the air, there": ask("cube_pos", states[height > 0.6]),
        "hand there, whatever the cube does": ask("ee_pos", states),
    }


def _swap(picture: Path, console: Console) -> Picture | None:
    """Ask for a swap at once and by a chain, print the chain, and draw an episode."""
    from goalsets.evaluate.camera import CameraError
    from goalsets.evaluate.rollout import EpisodeSpec, roll_out
    from goalsets.evaluate.strip import draw_strip
    from goalsets.runs.run import Run

    run = Run.open(SWAPPER)
    specs = [EpisodeSpec(run.config.task, SWAP, 3_000_000 + i) for i in range(SWAPS)]
    for text, plan in (("both places, asked at once", False), ("by a chain of questions", True)):
        results = [r for _, r in roll_out(run.path, None, specs, plan=plan, say=console.print)]
        print(f"   {text:44} {'':10} reached {sum(r.success for r in results)} of {len(results)}")
    try:
        strip = draw_strip(run, SWAP, specs[0].seed)
    except CameraError as error:
        print(f"   no picture: {error}")
        return None
    print("   The questions of the first episode:")
    for number, step in enumerate(strip.asked, start=1):
        print(f"     {number}. {step.text}")
    strip.image.save(picture, quality=88)
    return picture, "the swap: how each question of the chain ended"


def _draw(run: Run, questions: dict[str, list[EpisodeSpec]], path: Path) -> Picture | None:
    """One episode of each question, as a row of pictures with the goal in the corner."""
    os.environ.setdefault("MUJOCO_GL", "egl")  # no display is needed
    import matplotlib.pyplot as plt

    from goalsets.core import GoalSet, Query
    from goalsets.envs.tasks import TASKS
    from goalsets.evaluate.ask import ask
    from goalsets.evaluate.camera import Camera, CameraError

    world = TASKS[TASK].open(render=True)
    policy, _ = run.load()
    figure, axes = plt.subplots(len(questions), _PICTURES, figsize=(2.2 * _PICTURES, 7.4))
    for row, (text, asked) in zip(axes, questions.items(), strict=True):
        spec = asked[0]
        goal = spec.goal or world.start(spec.task_id, spec.seed).goal
        goals = GoalSet(np.asarray(goal, dtype=np.float32), Query.parse(spec.query, policy.layout))
        try:
            camera = Camera(world, goals.reference, goals.query, frames=20)
        except CameraError as error:
            print(f"   no picture: {error}")
            return None
        answer = ask(camera, policy, goals, task=TASK, task_id=spec.task_id, seed=spec.seed)
        camera.take(f"step {answer.steps}: {'reached' if answer.success else 'not reached'}")
        shown = np.linspace(0, len(camera.pictures) - 1, _PICTURES).round().astype(int)
        row[0].set_title(f"{text}: “{spec.query}”", loc="left", fontsize=9)
        for axis, number in zip(row, shown, strict=True):
            axis.imshow(camera.pictures[number])
            axis.set_axis_off()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path, "your policy: an episode of each question, with its goal in the corner"
