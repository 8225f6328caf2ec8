"""The model card: what was trained, on what, and how well it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import goalsets
from goalsets.evaluate.ask import distance_unit
from goalsets.export.parity import Parity
from goalsets.relabel.queries import SCHEMES
from goalsets.runs.run import Run
from goalsets.runs.weights import Progress

_ANSWERS = {
    "full": "the full state, whatever is asked",
    "task": "the task's query, whatever is asked",
    "goal-set": "any query",
}


def make_card(run: Run, progress: Progress, parity: Parity) -> dict[str, Any]:
    """Describe a policy as plain data, the same for the same run."""
    config = run.config
    counts = None if parity.distance is None else distance_unit(config.learner)
    return {
        "goalsets": goalsets.__version__,
        "task": config.task,
        "learner": config.learner,
        "scheme": config.scheme,
        "answers": _ANSWERS[SCHEMES[config.scheme].conditioning],
        "distance": counts,
        "actions": len(run.frame.normaliser.action_mean),
        "seed": config.seed,
        "step": progress.step,
        "training_seconds": round(progress.seconds, 2),
        # Not where the data lay: that is nobody's business.
        "data": {key: run.data[key] for key in ("fingerprint", "episodes", "transitions")},
        "evaluations": [told for record in run.evaluations() for told in _told(record, progress)],
        "parity": {"action": parity.action, "distance": parity.distance},
    }


def _told(record: Mapping[str, Any], progress: Progress) -> list[dict[str, Any]]:
    """The rates of an evaluation of these weights, without its episodes."""
    if record.get("step") != progress.step:
        return []
    if record["kind"] == "official":
        return [{"kind": "official", "query": "task", **_rate(record)}]
    return [
        {"kind": "suite", "suite": record["suite"], "query": told["query"], **_rate(told)}
        for told in record.get("by_predicate", {}).values()
        if "success" in told
    ]


def _rate(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "success": record["success"],
        "interval": [round(bound, 4) for bound in record["interval"]],
        "episodes": record["num_episodes"],
    }
