"""Value landscapes: the distance that a run predicts over a plane of states, query by query.

Computed from the run's last checkpoint. Only tasks whose states can be laid out in a plane have
one: PointMaze, where the state is the plane, and the tabletop, where the block or the gripper is
moved and all else stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, Query
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.ask import distance_unit
from goalsets.evaluate.start import make_environment, start_episode
from goalsets.policy import Policy
from goalsets.report import budget
from goalsets.report.collect import Note, RunRecord
from goalsets.report.figures.drawing import Drawing
from goalsets.report.results import Results
from goalsets.report.tables import plain_name
from goalsets.train.config import SCHEMES
from goalsets.train.run import Run
from goalsets.workers import silence

_GRID = 90
"""Points along the longer side of a plane."""
_SEED = 0
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Plane:
    """States laid out over two coordinates."""

    label: str
    """What moves; empty where the state is the plane."""
    unit: str
    x: Floats
    y: Floats
    states: Floats
    """`[len(y) * len(x), D]`, row by row."""
    goal: Floats
    aim: tuple[float, float]
    """Where the goal lies in the plane."""
    walls: NDArray[np.bool_] | None = None
    """`[len(y), len(x)]`, where nothing can be."""


def draw_landscapes(
    results: Results, notes: list[Note], watch: Callable[[int, int], None] = silence
) -> list[Drawing]:
    """Draw one figure for each learner and scheme that has a landscape, of its first seed."""
    chosen: dict[tuple[str, str, str], RunRecord] = {}
    for run in sorted(results.runs, key=lambda run: run.config.seed):
        usual = not results.variants[str(run.path)]
        if usual and _planes_of(run.task) is not None and run.config.learner != "gcbc":
            chosen.setdefault((run.task, run.config.learner, run.config.scheme), run)
    drawings: list[Drawing] = []
    for number, run in enumerate(chosen.values(), start=1):
        try:
            drawings.append(_draw(run))
        except GoalsetsError as error:
            notes.append(Note(str(run.path), f"no landscape: {error}"))
        watch(number, len(chosen))
    return drawings


def _planes_of(task: str) -> Callable[[str], list[Plane]] | None:
    family = TASKS[task].family if task in TASKS else ""
    return {"pointmaze": _maze, "tabletop": _table}.get(family)


def _queries(task: str) -> list[str]:
    if TASKS[task].family == "pointmaze":
        return ["pos", "[0]", "[1]"]
    return ["cube_pos", "ee_pos", "all"]


def _draw(run: RunRecord) -> Drawing:
    from matplotlib.figure import Figure

    make = _planes_of(run.task)
    assert make is not None
    policy = _last_policy(Run.open(run.path))
    planes = make(run.task)
    hears = SCHEMES[run.config.scheme].conditioning == "goal-set"
    asked = _queries(run.task) if hears else ["task"]
    surfaces = [
        [
            policy.distance(p.states, p.goal, Query.parse(text, policy.layout)).reshape(
                len(p.y), len(p.x)
            )
            for text in asked
        ]
        for p in planes
    ]
    shown = [
        surface if plane.walls is None else surface[~plane.walls]
        for plane, row in zip(planes, surfaces, strict=True)
        for surface in row
    ]
    low, high = min(float(s.min()) for s in shown), max(float(s.max()) for s in shown)
    figure = Figure(
        figsize=(1.6 + 2.5 * len(asked), 0.9 + 2.55 * len(planes)), layout="constrained"
    )
    axes = figure.subplots(len(planes), len(asked), squeeze=False, sharex="row", sharey="row")
    mesh: Any = None
    for row, plane in enumerate(planes):
        for column, text in enumerate(asked):
            axis = axes[row, column]
            mesh = _surface(axis, plane, surfaces[row][column], (low, high))
            if row == 0:
                axis.set_title(f"“{text}”" if hears else f"{run.config.scheme} hears no query")
            axis.set_xlabel(f"x, {plane.unit}")
        axes[row, 0].set_ylabel(f"{plane.label}\ny, {plane.unit}".lstrip("\n"))
    unit = distance_unit(run.config.learner)
    figure.colorbar(mesh, ax=axes, label=f"predicted distance ({unit})", shrink=0.85, pad=0.02)
    figure.suptitle(f"{run.config.learner} {run.config.scheme} on {run.task}", fontsize=10)
    return Drawing(
        plain_name(f"landscape {run.task} {run.config.learner} {run.config.scheme}"),
        f"Value landscape: {run.config.learner} {run.config.scheme} on {run.task}",
        (
            f"Predicted distance to one official goal (cross), {_explained(run.task)} A question "
            "that does not look at what moves should see no slope. Darker is nearer; all panels "
            f"share their colours. Budget: {budget.training([run])}; the last checkpoint of seed "
            f"{run.config.seed} alone (single seed)."
        ),
        figure,
        vector=False,
    )


def _last_policy(run: Run) -> Policy:
    """Of the checkpoint; of the last weights that were kept where there is none any more."""
    kept = None if run.checkpoint.exists() or not run.steps else run.steps[-1]
    return run.load(kept)[0]


def _explained(task: str) -> str:
    if TASKS[task].family == "pointmaze":
        return (
            "over where the point is; “[0]” and “[1]” ask for one coordinate of the goal. Grey: "
            "walls."
        )
    return (
        "over where the block lies (above) or the gripper is (below), all else as at the official "
        "start."
    )


def _surface(
    axis: Any,  # noqa: ANN401 - matplotlib's
    plane: Plane,
    values: Floats,
    limits: tuple[float, float],
) -> Any:  # noqa: ANN401 - matplotlib's
    masked = np.ma.masked_array(values, plane.walls if plane.walls is not None else False)
    axis.set_facecolor("#9a9a9a")
    mesh = axis.pcolormesh(
        plane.x, plane.y, masked, cmap="viridis", vmin=limits[0], vmax=limits[1],
        shading="nearest", rasterized=True,
    )  # fmt: skip
    levels = np.linspace(*limits, 9)[1:-1]
    axis.contour(plane.x, plane.y, masked, levels, colors="white", linewidths=0.5, alpha=0.7)
    axis.scatter(*plane.aim, marker="X", s=70, color="white", edgecolors="black", linewidths=1)
    axis.set_aspect("equal")
    return mesh


def _maze(task: str) -> list[Plane]:
    env = make_environment(TASKS[task])
    _, goal = start_episode(env, 1, _SEED)
    inner: Any = env.unwrapped
    cells = np.asarray(inner.maze_map)
    # A cell reaches half a unit around its centre.
    corner = np.array(inner.ij_to_xy((0, 0))) - inner.ij_to_xy((1, 1))
    unit = float(abs(corner[0]))
    x0, y0 = np.array(inner.ij_to_xy((0, 0))) - unit / 2
    step = max(cells.shape) * unit / _GRID
    x = np.arange(x0 + step / 2, x0 + cells.shape[1] * unit, step, dtype=np.float32)
    y = np.arange(y0 + step / 2, y0 + cells.shape[0] * unit, step, dtype=np.float32)
    rows = np.clip(((y - y0) / unit).astype(int), 0, cells.shape[0] - 1)
    columns = np.clip(((x - x0) / unit).astype(int), 0, cells.shape[1] - 1)
    walls = cells[np.ix_(rows, columns)] == 1
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
    env.close()
    return [Plane("", "m", x, y, grid, goal, (float(goal[0]), float(goal[1])), walls)]


def _table(task: str) -> list[Plane]:
    from goalsets.envs.tabletop.layout import BLOCKS, EFF_POS, JOINT_POS
    from goalsets.envs.tabletop.states import WORKSPACE, arm_joints

    env = make_environment(TASKS[task])
    first, goal = start_episode(env, 1, _SEED)
    env.close()
    x = np.linspace(WORKSPACE[0][0], WORKSPACE[1][0], _GRID // 2, dtype=np.float32)
    y = np.linspace(WORKSPACE[0][1], WORKSPACE[1][1], _GRID // 2, dtype=np.float32)
    places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)
    planes: list[Plane] = []
    for label, start in (("block moved", BLOCKS.start), ("gripper moved", EFF_POS.start)):
        states = np.repeat(first[None], len(places), axis=0)
        states[:, start : start + 2] = places
        # The arm's joints follow the gripper; nothing else does.
        states[:, JOINT_POS][:, :2] = arm_joints(states[:, EFF_POS])
        aim = (float(goal[start]), float(goal[start + 1]))
        planes.append(Plane(label, "dm", x, y, states, goal, aim))
    return planes
