"""`goalsets export`: a policy as one file for other machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from goalsets.cli.counts import OptionalSize


def export(
    run: Annotated[Path, tyro.conf.Positional],
    to: Literal["onnx"] = "onnx",
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None,
    step: OptionalSize = None,
    plan: bool = False,
    data: Path | None = None,
) -> None:
    """Write a run's policy as one file that needs no torch.

    The exported graph takes an observation, a goal and a query. It returns the action, and the
    distance if the learner has one. It includes standardisation, the fill of the goal coordinates
    that a query leaves out, and the clamp of actions. The file also holds the layout and a model
    card. Before the file is written, 10,000 random questions compare the export with the policy: if
    an answer differs by more than 1e-5 of its range, the export fails and writes no file.
    goalsets.runtime.load(FILE) runs it with numpy and onnxruntime. If the run has a planner, it is
    written beside the file as policy.planner.safetensors, for
    goalsets.runtime.load(FILE).planning().

    Args:
        run: A run directory.
        to: The format.
        output: The file; by default policy.onnx in the run directory.
        step: A step whose weights were kept; the latest checkpoint unless given.
        plan: Also export a planner. If the run has none yet, it is learned from the data, which
            takes a few seconds.
        data: With --plan: the store to learn the planner from; by default the one in $GOALSETS_DATA
            or ~/.goalsets/data under the task's name.
    """
    from goalsets.cli.printing import say_aside
    from goalsets.core import GoalsetsError
    from goalsets.export import export_onnx
    from goalsets.plan.planner_file import PLANNER
    from goalsets.runs.run import Run

    place = output or run / f"policy.{to}"

    if data is not None and not plan:
        raise GoalsetsError("--data is for the planner: add --plan, or leave out --data.")
    opened = Run.open(run)
    wanted = plan or (opened.path / PLANNER).exists()
    planner = opened.planner(data, say=say_aside) if wanted else None

    def say(text: str) -> None:
        say_aside(f"{text} ...")

    done = export_onnx(opened, place, step, planner=planner, say=say)
    print(f"exported {done.card['learner']} of step {done.card['step']:,}: {done.path}")
    print(f"  answers   {done.card['answers']}")
    print(f"  size      {done.size / 1e6:.1f} MB, {done.operations} operations")
    told = f"actions within {done.parity.action:.1g} of half their range"
    if done.parity.distance is not None:
        told += f", distances within {done.parity.distance:.1g} of the largest"
    print(f"  parity    {told}, on 10,000 questions")
    if done.planner is not None:
        print(f"  planner   {done.planner}, {done.planner.stat().st_size / 1e6:.1f} MB")
    print(f"next: goalsets.runtime.load('{done.path}').act(observation, goal, query)")
