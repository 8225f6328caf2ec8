"""A chain reads observations, the goal, the query and its planner's file: never the simulator."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalsets import Query
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.chains import WatchedPlanning
from goalsets.evaluate.rollout import EpisodeSpec, run_episode
from goalsets.plan import PlanningPolicy, write_planner
from goalsets.runs.planning import learn_planner
from tests.plan.runs import LAYOUT, TASK, store


class Obedient:
    """A policy that notes what it is asked, and whose action is the question itself."""

    layout, answers, distance_unit = LAYOUT, "any question", None

    def __init__(self) -> None:
        self.asked: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def reset(self) -> None:
        return None

    def hears(self, query: Any) -> np.ndarray:
        return np.ones(LAYOUT.dim, np.bool_)

    def act(self, observation: Any, goal: Any, query: Any, **_: Any) -> np.ndarray:
        assert all(type(given) is np.ndarray for given in (observation, goal, query))
        self.asked.append((np.array(observation), np.array(goal), np.array(query)))
        return np.where(query, goal, observation).astype(np.float32)

    def distance(self, observation: Any, goal: Any, query: Any) -> np.ndarray:
        raise AssertionError("nobody asks")


class Granting:
    """A world where whatever is asked for comes to pass, slowly, and that hides all but states."""

    def __init__(self, task_id: int, drop: int | None = None) -> None:
        adapter = TASKS[TASK].open()
        self._first, self._goal = adapter.start(task_id, 3)
        self._state, self._steps, self._drop = np.array(self._first), 0, drop

    def start(self, goal: int, seed: int) -> Any:
        return self._first, self._goal

    def step(self, action: np.ndarray) -> Any:
        self._steps += 1
        self._state = self._state + np.clip(action - self._state, -0.2, 0.2)
        if self._steps == self._drop:  # what was put somewhere is gone from there
            self._state = np.array(self._first)
        return np.array(self._state), None, False


def episode(task_id: int, drop: int | None = None) -> tuple[WatchedPlanning, Obedient, Any]:
    policy = Obedient()
    chain = WatchedPlanning(policy, learn_planner(LAYOUT, store()))
    spec = EpisodeSpec(TASK, task_id, 3, trace=True)
    result = run_episode(Granting(task_id, drop), chain, spec)
    assert result.trace is not None
    chain.finish(result.trace["observations"][-1])
    return chain, policy, result


@pytest.mark.parametrize("task_id", [1, 2, 3, 4, 5])
def test_a_policy_that_does_what_it_is_asked_gets_there(task_id: int) -> None:
    chain, _, result = episode(task_id)
    assert result.success
    assert chain.plans == 1
    assert all(step.done for step in chain.asked)
    assert [step.number for step in chain.asked] == list(range(1, len(chain.asked) + 1))
    assert chain.asked[-1].last == result.steps


def test_what_was_lost_is_planned_for_again() -> None:
    whole = episode(2)[0]
    chain, _, result = episode(2, drop=whole.asked[1].last - 2)
    assert result.success
    assert chain.plans > 1
    assert len(chain.asked) > len(whole.asked)


BLIND = """
import json, sys
import numpy as np

NEVER = ("goalsets.envs", "goalsets.data", "goalsets.collect", "goalsets.runs", "mujoco",
         "gymnasium", "ogbench", "torch", "multiprocessing.shared_memory")

class Blind:
    def find_spec(self, name, path=None, target=None):
        if any(name == never or name.startswith(never + ".") for never in NEVER):
            raise ImportError(f"{name} must not be imported")

sys.meta_path.insert(0, Blind())
from goalsets import Query
from goalsets.plan import PlanningPolicy, read_planner

class Recorder:
    answers, distance_unit = "any question", None
    def __init__(self, layout):
        self.layout, self.asked = layout, []
    def reset(self):
        return None
    def act(self, observation, goal, query, **rest):
        self.asked.append((observation, goal, query))
        return np.zeros(5, np.float32)

planner = read_planner(sys.argv[1])
seen = np.load(sys.argv[2])
inner = Recorder(planner.layout)
policy = PlanningPolicy(inner, planner)
memory, query = policy.reset(), Query.parse("task", planner.layout)
for observation in seen["observations"]:
    policy.act(observation, seen["goal"], query, memory=memory)
same = all(
    np.array_equal(np.asarray(ours), theirs)
    for number, asked in enumerate(inner.asked)
    for ours, theirs in zip(asked, (seen["states"][number], seen["goals"][number],
                                    seen["masks"][number]))
)
found = [name for name in sys.modules if name.startswith(NEVER)]
print(json.dumps({"same": same, "asked": len(inner.asked), "imported": found}))
"""


@pytest.mark.parametrize("task_id", [2, 4])
def test_recorded_observations_alone_give_the_same_chain(task_id: int, tmp_path: Path) -> None:
    """In a process that cannot import an environment, each step asks what was asked before."""
    chain, policy, result = episode(task_id)
    write_planner(chain.planner, tmp_path / "planner.safetensors")
    states, goals, masks = (np.stack(each) for each in zip(*policy.asked, strict=True))
    arrays = {"states": states, "goals": goals, "masks": masks, "goal": result.trace["goal"]}
    observations = result.trace["observations"][:-1]
    np.savez(tmp_path / "seen.npz", observations=observations, **arrays)
    done = subprocess.run(
        [sys.executable, "-c", BLIND, str(tmp_path / "planner.safetensors"), tmp_path / "seen.npz"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == {"same": True, "asked": len(observations), "imported": []}
    # The test can fail: several questions were asked, and they differ.
    assert (
        len({mask.tobytes() + goal.tobytes() for goal, mask in zip(goals, masks, strict=True)}) > 1
    )


def test_the_planner_is_shown_observations_and_the_question(monkeypatch: Any) -> None:
    """Whatever world it is in, `plan` gets what was observed and what was asked."""
    planner = learn_planner(LAYOUT, store())
    given: list[tuple[np.ndarray, Any]] = []
    plan = type(planner).plan

    def spied(self: Any, state: Any, goals: Any, *rest: Any, **more: Any) -> Any:
        given.append((np.array(state), goals))
        return plan(self, state, goals, *rest, **more)

    monkeypatch.setattr(type(planner), "plan", spied)
    policy = PlanningPolicy(Obedient(), planner)
    world = TASKS[TASK].open()
    first, goal = world.start(2, 3)
    query, memory = Query.parse("task", LAYOUT), policy.reset()
    seen = [np.array(first)]
    for _ in range(60):
        action = policy.act(seen[-1], goal, query, memory=memory)[:5]
        seen.append(np.array(world.step(np.clip(action, -1, 1)).observation))
    assert given
    for state, goals in given:
        assert any(np.array_equal(state, observed) for observed in seen)
        np.testing.assert_array_equal(goals.reference, goal)
        assert goals.query == query
