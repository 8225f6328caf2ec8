"""`goalsets ask`: ask one question; say what the data shows about it and what the policy does."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from goalsets.cli.counts import Count, OptionalSize, Size
from goalsets.cli.printing import print_plan, print_table, say_aside

if TYPE_CHECKING:
    from goalsets.core import GoalSet
    from goalsets.core.acting import Policy
    from goalsets.data.store import Store
    from goalsets.envs.tasks import Adapter
    from goalsets.evaluate.ask import Answer
    from goalsets.evaluate.camera import Camera
    from goalsets.evaluate.chains import WatchedPlanning
    from goalsets.policy import TrainedPolicy
    from goalsets.runs.run import Run


def ask(  # noqa: PLR0913, PLR0917 - the flags of a command
    run: Annotated[Path, tyro.conf.Positional],
    query: str = "task",
    goal: str | None = None,
    set: tuple[str, ...] = (),  # noqa: A002 - what people type
    task_id: Count = 1,
    seed: Size = 0,
    plan: bool = False,
    step: OptionalSize = None,
    data: Path | None = None,
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    no_video: bool = False,
) -> None:
    """Ask a trained policy one question: check it against the data, run an episode, and film it.

    Args:
        run: A run directory, or a model that comes with goalsets: demo or two-cubes.
        query: What defines success, such as "block0_pos & block0_yaw:20deg".
        goal: The reference state. task is the official goal of the start; task:3 or task:NAME is
            another official goal. bank:17 is a state of the validation split, and
            'bank:block0_pos.z >= 0.6' one that satisfies a condition. Or name a JSON file with all
            coordinates, or with some groups. The default is task. If another question is put
            to a model that comes with goalsets, it is bank:0, the first of the model's own states.
        set: Edits of the reference: block0_pos=0.4,0.1,0.02 in observation units, eff_pos.z=6cm or
            block0_yaw=30deg in physical ones. Positions count from the layout's own origin.
        task_id: The official task that the episode starts from, counted from 1.
        seed: The seed of the start, and of the state that a condition finds.
        plan: Ask a chain of questions that leads to the goal, one part after another. The planner
            finds it in the data; it is printed before and after the episode. The first time, the
            planner is learned, which takes a few seconds, and is kept in the run directory.
        step: A step whose weights were kept; the latest checkpoint unless given.
        data: The store to check the question against, and to learn a planner from; by default the
            one in $GOALSETS_DATA or ~/.goalsets/data under the task's name.
        output: The directory for the film and the picture; by default a new one in
            RUN/asked, or in ./asked for a model that comes with goalsets.
        no_video: Do not film the episode.
    """
    # MuJoCo chooses how to draw when it is imported.
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        os.environ.setdefault("MUJOCO_GL", "egl")
    from goalsets.cli.posing import pose
    from goalsets.envs.tasks import TASKS
    from goalsets.evaluate.ask import ask as run_question
    from goalsets.runs.run import Run

    before = Run.open(run)
    if before.config.task not in TASKS and query != "task":
        _ask_data(before, query, goal, set, seed, step, data)
        return
    posed = pose(run, query, goal, set, task_id, seed, data, render=not no_video)
    opened, world, goals = posed.run, posed.world, posed.goals
    trained, _ = opened.load(step)
    chain = _chain(trained, posed.store if data is not None else None) if plan else None
    policy = chain or trained
    _say_before(goals, policy, posed.store, _predicted(policy, posed.first, goals, opened))
    if chain is not None:
        print_plan(chain.planner.plan(posed.first, goals), opened.data.get("rate"))
    place = output or _next_place(Path() if opened.shipped else opened.path)
    place.mkdir(parents=True, exist_ok=True)
    camera = _camera(world, goals, chain) if not no_video else None
    answer = run_question(
        camera or world, policy, goals, task=opened.config.task, task_id=task_id, seed=seed
    )
    _say_after(answer, goals, task_id, seed)
    if chain is not None:
        chain.finish(answer.observations[-1])
        _say_chain(chain)
    told = {"run": str(run), **_told_chain(chain)}
    _write(place, answer, goals, policy, camera, told)


def _ask_data(
    run: Run,
    query: str,
    goal: str | None,
    edits: tuple[str, ...],
    seed: int,
    step: int | None,
    data: Path | None,
) -> None:
    """Say what the data shows about a question of a task without an environment."""
    from goalsets.cli.posing import named_goal, run_store
    from goalsets.core import GoalSet, Query

    store = run_store(run, data)
    asked = Query.parse(query, run.frame.layout)
    reference = named_goal(run, store, goal or "bank:0", edits, seed)
    assert reference is not None  # bank:0 unless another was named
    goals = GoalSet(reference, asked)
    policy, _ = run.load(step)
    print(f"question   {asked}")
    print(f"goal       {goal or 'bank:0'}{', edited' if edits else ''}")
    first = store.trajectories.observations[0]
    _say_before(goals, policy, store, _predicted(policy, first, goals, run))
    print(f"episode    none: {run.config.task} has no environment")
    print(f'next: goalsets check {run.path} --query "{query}"')


def _chain(policy: TrainedPolicy, store: Store | None) -> WatchedPlanning:
    from goalsets.evaluate.chains import WatchedPlanning

    return WatchedPlanning(policy, policy.planning(store, say=say_aside).planner)


def _say_chain(chain: WatchedPlanning) -> None:
    plans = "1 plan" if chain.plans == 1 else f"{chain.plans} plans"
    done = sum(step.done for step in chain.asked)
    print(f"chain      {plans}, {len(chain.asked)} questions, {done} of them answered")
    rows = [
        (f"{a.first} to {a.last}", f"{a.plan}.{a.number}", "done" if a.done else "not done", a.text)
        for a in chain.asked
    ]
    print_table(("steps", "plan", "", "asked"), rows)


def _predicted(policy: Policy, first: Any, goals: GoalSet, run: Run) -> str:  # noqa: ANN401
    from goalsets.core.durations import duration
    from goalsets.evaluate.ask import predict

    found = predict(policy, first[None], goals)
    if found is None:
        return f"{run.config.learner} learns no distance"
    rate = run.data.get("rate")
    if policy.distance_unit == "steps" and rate is not None:
        return duration(float(found[0]), rate)
    return f"{found[0]:.3g} {policy.distance_unit}"


def _say_before(goals: GoalSet, policy: Policy, store: Store | None, predicted: str) -> None:
    from goalsets.evaluate.ask import doubts, support

    seen = None
    if store is None:
        print("support    unknown: no data was found; name a store with --data")
    else:
        seen = support(goals, store.train)
        print(f"support    training: {seen}")
        print(f"           validation: {support(goals, store.validation)}")
    print(f"predicted  {predicted}")
    for doubt in doubts(goals, policy, seen):
        print(f"warning: {doubt}")


def _camera(world: Adapter, goals: GoalSet, chain: WatchedPlanning | None) -> Camera | None:
    from goalsets.evaluate.camera import Camera, CameraError

    try:
        due = chain.due if chain is not None else str
        return Camera(world, goals.reference, goals.query, due=due)
    except CameraError as error:
        print(f"no film: {error}")
        return None


def _say_after(answer: Answer, goals: GoalSet, task_id: int, seed: int) -> None:
    from goalsets.core import Group

    ended = f"reached after {answer.steps} steps" if answer.success else "not reached"
    if not answer.success:
        ended += f" in {answer.steps} steps"
    print(f"episode    from task {task_id}, seed {seed}: {ended}")
    rows = []
    for term in answer.violations:
        group = goals.layout.by_name.get(term.name) or Group.loose(int(term.name[1:-1]))
        apart = float(term.distance)
        rows.append(
            (
                term.name,
                f"{apart:.3g}",
                f"{term.tolerance:.3g}",
                "" if group.metric == "exact" else group.say(apart),
                "holds" if bool(term.satisfied) else "violated",
            )
        )
    print_table(("at the end", "distance", "tolerance", "that is", ""), rows)


def _write(
    place: Path,
    answer: Answer,
    goals: GoalSet,
    policy: Policy,
    camera: Camera | None,
    told: dict[str, Any],
) -> None:
    from goalsets.evaluate.ask import draw_answer
    from goalsets.evaluate.camera import write_film

    draw_answer(answer, goals, policy.distance_unit, place / "distance.png")
    plain = {
        **told,
        "query": str(goals.query),
        "goal": [float(v) for v in goals.reference],
        "success": answer.success,
        "steps": answer.steps,
        "violations": {
            term.name: {"distance": float(term.distance), "tolerance": term.tolerance}
            for term in answer.violations
        },
        "predicted": None if answer.distances is None else [float(d) for d in answer.distances],
    }
    (place / "answer.json").write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    if camera is not None:
        camera.take(f"step {answer.steps}: {'reached' if answer.success else 'not reached'}")
        film, note = write_film(camera.pictures, place / "film.mp4")
        if note is not None:
            print(f"note: {note}")
        print(f"film       {film}")
    print(f"distance   {place / 'distance.png'}")


def _told_chain(chain: WatchedPlanning | None) -> dict[str, Any]:
    """The chain of questions as written to the file; empty if none was asked."""
    if chain is None:
        return {}
    asked = [
        {
            "query": str(each.goals.query),
            "reference": [float(v) for v in each.goals.reference],
            "plan": each.plan,
            "number": each.number,
            "first": each.first,
            "last": each.last,
            "done": each.done,
        }
        for each in chain.asked
    ]
    return {"plan": True, "plans": chain.plans, "chain": asked}


def _next_place(run: Path) -> Path:
    """The next numbered directory under `asked`."""
    asked = run / "asked"
    numbers = [int(p.name) for p in asked.glob("[0-9]*") if p.name.isdecimal()]
    return asked / f"{max(numbers, default=0) + 1:03d}"
