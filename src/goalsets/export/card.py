"""The model card: what was trained, on what, and how well it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import goalsets
from goalsets.core import Query
from goalsets.export.parity import Parity
from goalsets.policy import TrainedPolicy
from goalsets.runs.run import Run, is_planned
from goalsets.runs.weights import Progress
from goalsets.runtime.planning import CARD_PLANNER


def make_card(
    run: Run,
    policy: TrainedPolicy,
    progress: Progress,
    parity: Parity | None = None,
    planner: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Describe a policy as plain data, the same for the same run.

    Args:
        run: The run.
        policy: Its policy.
        progress: How far it was trained.
        parity: The largest differences to the policy; None before they are measured.
        planner: Facts about the planner beside it; None if there is none.
    """
    config = run.config
    return {
        "goalsets": goalsets.__version__,
        "task": config.task,
        "learner": config.learner,
        "scheme": config.scheme,
        "answers": policy.answers,
        "hears": _heard(policy),
        "distance": policy.distance_unit,
        "actions": len(run.frame.normaliser.action_mean),
        "action_bounds": run.tell_bounds(),
        "rate": run.data.get("rate"),
        "chunk": policy.learner.chunk,
        "executed": policy.learner.executed,
        "seed": config.seed,
        **progress.record(),
        # No path of the data: it means nothing elsewhere, and may be private.
        "data": {key: run.data[key] for key in ("fingerprint", "episodes", "transitions")},
        "evaluations": [told for record in run.evaluations() for told in _told(record, progress)],
        CARD_PLANNER: planner,
        "parity": None
        if parity is None
        else {"action": parity.action, "distance": parity.distance},
    }


def _heard(policy: TrainedPolicy) -> list[int] | None:
    """The coordinates of a goal that the policy always sees; None if the query decides."""
    if policy.learner.conditioner.hears_queries:
        return None
    return np.flatnonzero(policy.hears(Query.all(policy.layout))).tolist()


def _told(record: Mapping[str, Any], progress: Progress) -> list[dict[str, Any]]:
    """The rates of an evaluation of these weights, without its episodes."""
    if record.get("step") != progress.step:
        return []
    plan = {"plan": True} if is_planned(record) else {}
    if record["kind"] == "official":
        return [{"kind": "official", "query": "task", **_rate(record), **plan}]
    return [
        {"kind": "suite", "suite": record["suite"], "query": told["query"], **_rate(told), **plan}
        for told in record.get("by_predicate", {}).values()
        if "success" in told
    ]


def _rate(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "success": record["success"],
        "interval": [round(bound, 4) for bound in record["interval"]],
        "episodes": record["num_episodes"],
    }
