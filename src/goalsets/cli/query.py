"""`goalsets query`: explain what a query means."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import tyro

from goalsets.cli.printing import print_table
from goalsets.core import GoalsetsError, Query, StateLayout, Term, print_indices, read_layout

DEFAULT_TASK = "cube-single-noisy-v0"


def query(
    text: Annotated[str, tyro.conf.Positional],
    task: str = DEFAULT_TASK,
    layout: Path | None = None,
    json: bool = False,
) -> None:
    """Explain a query: which groups and coordinates it requires, and with what tolerance.

    Args:
        text: The query. '&' joins requirements, '-' removes coordinates. A requirement is a group
            ("eff_pos"), an alias ("cube_pose"), coordinates by index ("[19:22]"), "all" or "task".
            It may have a tolerance: "eff_pos:0.4" in observation units, or "eff_pos:4cm" and
            "eff_yaw:20deg" in physical units.
        task: The task whose layout names the groups; 'goalsets tasks' lists them.
        layout: A layout file (YAML or JSON) in place of a task.
        json: Print JSON for programs instead of a table for people.
    """
    explained = Query.parse(text, _choose_layout(task, layout))
    if json:
        print(_as_json(explained))
    else:
        _explain(explained)


def _choose_layout(task: str, layout: Path | None) -> StateLayout:
    if layout is None:
        from goalsets.envs.tasks import TASKS

        return TASKS[task].layout
    if task != DEFAULT_TASK:
        raise GoalsetsError("give --task or --layout, not both.")
    return read_layout(layout)


def _as_json(explained: Query) -> str:
    terms: list[dict[str, Any]] = [
        {
            "name": term.name,
            "coordinates": list(term.indices),
            "metric": term.group.metric,
            "tolerance": term.tolerance,
            "tolerance_in_unit": _physical(term) or None,
        }
        for term in explained.terms
    ]
    plain = {"query": str(explained), "layout": explained.layout.name, "terms": terms}
    return jsonlib.dumps(plain, indent=2)


def _explain(explained: Query) -> None:
    print(f"query     {explained}")
    print(f"layout    {explained.layout.name}")
    print(f"looks at  {len(explained)} of {explained.layout.dim} coordinates")
    columns = ("group", "coordinates", "metric", "tolerance", "that is", "description")
    print_table(columns, [_row(term) for term in explained.terms])


def _row(term: Term) -> tuple[str, ...]:
    return (
        term.name,
        print_indices(term.indices) + ("" if term.whole else " (part)"),
        term.group.metric,
        "none known" if term.tolerance is None else f"{term.tolerance:.4g}",
        _physical(term),
        term.group.description,
    )


def _physical(term: Term) -> str:
    """The tolerance in physical units; empty if the group has no unit."""
    if term.tolerance is None:
        return ""
    return "equal" if term.group.metric == "exact" else term.group.say(term.tolerance)
