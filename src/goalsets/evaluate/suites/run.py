"""Run a suite: ask one checkpoint every question, on the suite's episodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goalsets.core import Query
from goalsets.core.acting import Policy
from goalsets.evaluate.rollout import EpisodeSpec, roll_out
from goalsets.evaluate.stats import Rate
from goalsets.evaluate.suites.suite import Suite, SuiteEpisode
from goalsets.runs.run import Run, is_planned, with_plan
from goalsets.workers import silence

Outcome = tuple[bool, int]
"""Success, and the steps it took."""
Key = tuple[str, int, int]
"""Predicate, task id and seed: an episode of a suite."""


def run_suite(  # noqa: PLR0913 - the flags of a command
    run: Run,
    suite: Suite,
    step: int | None = None,
    *,
    only: Sequence[str] = (),
    episodes: int | None = None,
    again: bool = False,
    plan: bool = False,
    workers: int | None = None,
    watch: Callable[[int, int, int], None] = silence,
    say: Callable[[str], None] = silence,
) -> dict[str, Any]:
    """Ask a run the questions of a suite, append the record to the run, and return it.

    Episodes that are already recorded for this suite and these weights are not run again, because
    they would end in the same way.

    Args:
        run: The run.
        suite: The suite; it must be for the run's task and layout.
        step: A step whose weights were kept; the latest checkpoint unless given.
        only: Predicates to ask; by default all.
        episodes: How many episodes to run from each official start; by default all.
        again: Run all episodes, even those that are recorded.
        plan: Ask chains of questions, and mark the record so. If the run has no planner, it is
            learned.
        workers: Processes.
        watch: Called with the episodes done, the number of all, and the successes so far.
        say: Called with notes: a worker died, the data differs from the suite's, or a planner is
            learned.
    """
    suite.check_run(run.config.task, run.frame.layout, run.path)
    chosen = suite.select(only, episodes)
    if run.data["fingerprint"] != suite.data["fingerprint"]:
        say(
            f"note: {run.path} was trained on other data than the suite's, so the suite's goals "
            "may not be held out from it."
        )
    policy, progress = run.load(step)
    reasons = {name: reason_not_asked(policy, suite, name) for name in suite.questions}
    asked = [e for e in chosen if reasons[e.predicate] is None]
    outcomes = {} if again else known_outcomes(run, suite, progress.step, plan)
    # Two predicates may ask the same question; that episode is run once.
    todo = dict.fromkeys(suite.spec(e) for e in asked if _key(e) not in outcomes)
    planner = run.planner(say=say) if plan else None  # before every worker would learn it
    start = time.perf_counter()
    done: dict[EpisodeSpec, Outcome] = {}
    for spec, result in roll_out(run.path, step, list(todo), plan=plan, workers=workers, say=say):
        done[spec] = (result.success, result.steps)
        watch(len(done), len(todo), sum(success for success, _ in done.values()))
    outcomes |= {_key(e): done[suite.spec(e)] for e in asked if _key(e) not in outcomes}
    record = {
        "kind": "suite",
        "task": suite.task,
        "suite": suite.name,
        "digest": suite.digest,
        **progress.record(),
        **with_plan(planner),
        "evaluation_seconds": round(time.perf_counter() - start, 2),
        "by_predicate": {
            name: _predicate_record(reasons[name], suite, name, chosen, outcomes)
            for name in suite.questions
            if not only or name in only
        },
    }
    known = [r["by_predicate"] for r in _records(run, suite, plan)]
    if todo or record["by_predicate"] not in known:
        run.add_evaluation(record)
    return record


def reason_not_asked(policy: Policy, suite: Suite, predicate: str) -> str | None:
    """Why a policy cannot be asked a predicate; None if it can.

    A policy may see more of the reference than the question asks for; the question judges it. But
    a policy that does not see all that the question asks for cannot answer it.
    """
    query = Query.parse(suite.questions[predicate].query, policy.layout)
    if not (query.mask & ~policy.hears(query)).any():
        return None
    return f"it answers {policy.answers}, and does not see all of '{query}'"


def known_outcomes(run: Run, suite: Suite, step: int, plan: bool = False) -> dict[Key, Outcome]:
    """The recorded outcomes of a suite's episodes, for the weights of a step.

    Args:
        run: The run.
        suite: The suite.
        step: The step.
        plan: Whether to read the records of chains of questions, or the others.
    """
    return {
        (name, entry["task_id"], entry["seed"]): (entry["success"], entry["steps"])
        for record in _records(run, suite, plan)
        if record["step"] == step
        for name, told in record["by_predicate"].items()
        for entry in told.get("episodes", ())
    }


def _records(run: Run, suite: Suite, plan: bool) -> list[dict[str, Any]]:
    suites = [r for r in run.evaluations() if r["kind"] == "suite" and is_planned(r) == plan]
    return [record for record in suites if record["digest"] == suite.digest]


def _key(episode: SuiteEpisode) -> Key:
    return episode.predicate, episode.task_id, episode.seed


def _predicate_record(
    reason: str | None,
    suite: Suite,
    name: str,
    chosen: Sequence[SuiteEpisode],
    outcomes: Mapping[Key, Outcome],
) -> dict[str, Any]:
    question = suite.questions[name].query
    if reason is not None:
        return {"query": question, "not_asked": reason}
    own = [e for e in chosen if e.predicate == name]
    rate = Rate.of([outcomes[_key(e)][0] for e in own])
    reached = [outcomes[_key(e)][1] for e in own if outcomes[_key(e)][0]]
    return {
        "query": question,
        "success": rate.value,
        "interval": list(rate.interval),
        "num_episodes": rate.episodes,
        "mean_steps_to_success": sum(reached) / len(reached) if reached else None,
        "episodes": [
            {
                "task_id": e.task_id,
                "seed": e.seed,
                "success": outcomes[_key(e)][0],
                "steps": outcomes[_key(e)][1],
            }
            for e in own
        ],
    }
