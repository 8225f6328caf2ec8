"""check_task: a task that fits passes, and whatever is broken in it is said, and only that."""

from __future__ import annotations

import dataclasses
import re
import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import goalsets
from goalsets import Group, StateLayout, cli
from goalsets.envs.check import TaskError, inspect_task
from goalsets.envs.tasks import TASKS, Adapter
from tests.envs.walking import LAYOUT, RADIUS, Walk, WalkAdapter, broken, walk_task


def test_a_task_that_fits_has_only_remarks() -> None:
    remarks = goalsets.check_task(walk_task())
    assert any("cannot draw a given state" in text for text in remarks)
    assert not any("cannot be pushed" in text or "cannot be set" in text for text in remarks)


def test_a_plain_environment_fits_and_is_told_what_it_lacks() -> None:
    remarks = goalsets.check_task(walk_task(adapter=Adapter, goals=("east",)))
    for lacking in (
        "cannot be set to a state",
        "cannot be pushed",
        "nothing follows a dragged object",
    ):
        assert any(lacking in text for text in remarks), lacking


# --- One broken thing at a time, and the words that name it -------------------------------------


def reset_with(**changes: Any) -> Any:
    """A reset that says something else."""

    def reset(self: Walk, *, seed: int | None = None, options: Any = None) -> Any:
        observation, info = Walk.reset(self, seed=seed, options=options)
        return changes.get("observation", observation), changes.get("info", info)

    return reset


def unseeded_goal(self: Walk, *, seed: int | None = None, options: Any = None) -> Any:
    observation, info = Walk.reset(self, seed=seed, options=options)
    battery = np.random.default_rng().uniform()
    return observation, {"goal": np.array([*info["goal"][:2], battery])}


def unseeded_start(self: Walk, *, seed: int | None = None, options: Any = None) -> Any:
    return Walk.reset(self, seed=None, options=options)


def one_place(self: Walk, *, seed: int | None = None, options: Any = None) -> Any:
    return Walk.reset(self, seed=seed, options={"task_id": 1})


def remembering(self: Walk, *, seed: int | None = None, options: Any = None) -> Any:
    """The start depends on the episode before."""
    before = self.state[2]
    _, info = Walk.reset(self, seed=seed, options=options)
    self.state[2] = before + 0.5
    return self.observe(), info


def without_end(self: Walk, action: Any) -> Any:
    """A state that is not finite after some steps."""
    told = Walk.step(self, action)
    return (np.full(3, np.nan, dtype=np.float32), *told[1:]) if self.state[2] < 0.9 else told


def gives_up(self: Walk, action: Any) -> Any:
    observation, reward, ended, cut, info = Walk.step(self, action)
    return observation, reward, ended or self.state[2] < 0.9, cut, info


def half_put(self: WalkAdapter, state: Any) -> None:
    self.inner.state[2] = state[2]


def fail(*_: Any, **__: Any) -> Any:
    raise RuntimeError("no motor")


NO_TASK = dataclasses.replace(LAYOUT, task=None)
NO_TOLERANCE = dataclasses.replace(LAYOUT, groups=[Group("pos", (0, 1)), LAYOUT.groups[1]])
WIDE = StateLayout(4, [Group("pos", (0, 1), tolerance=0.5)], task="pos", name="wide")
DISCRETE = spaces.Discrete(4)

BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no goals": ({"goals": ("east", "east", "corner")}, "goals must be one or more different"),
    "an empty name": ({"goals": ("east", "", "corner")}, "goals must be one or more different"),
    "horizon": ({"relabel_horizon": 0}, "relabel_horizon must be 1 or more steps, got 0"),
    "no query": ({"layout": NO_TASK}, "there is no official query"),
    "no tolerance": ({"layout": NO_TOLERANCE}, "cannot judge: pos has no tolerance"),
    "cannot be made": (
        {"kind": broken(Walk, __init__=fail)},
        "making the environment failed with RuntimeError: no motor",
    ),
    "cannot start": (
        {"kind": broken(Walk, reset=fail)},
        r"start\(1, 0\) failed with RuntimeError: no motor",
    ),
    "cannot step": (
        {"kind": broken(Walk, step=fail), "adapter": Adapter, "goals": ("east",)},
        "an episode of random actions failed with RuntimeError: no motor",
    ),
    "cannot be closed": ({"kind": broken(Walk, close=fail)}, r"close\(\) failed with RuntimeError"),
    "dimension": ({"layout": WIDE}, r"observation has shape \[3\], but layout 'wide' has 4"),
    "goal's dimension": (
        {"kind": broken(Walk, reset=reset_with(info={"goal": np.zeros(2)}))},
        r"the goal has shape \[2\], but layout 'walk' has 3",
    ),
    "no goal state": (
        {"kind": broken(Walk, reset=reset_with(info={}))},
        r"walk-v0 cannot give its goal as a full state: .*goal_state\(raw, info\)",
    ),
    "dtype": (
        {"adapter": broken(WalkAdapter, observe=lambda _, raw: np.asarray(raw, np.float64))},
        "the observation is float64; states must be float32",
    ),
    "not finite": (
        {"kind": broken(Walk, reset=reset_with(observation=np.full(3, np.nan)))},
        "the observation is not finite at the start",
    ),
    "not finite later": (
        {"kind": broken(Walk, step=without_end), "adapter": Adapter},
        "the observation is not finite after 11 random steps",
    ),
    "start without a seed": (
        {"kind": broken(Walk, reset=unseeded_start)},
        r"the observation does not depend on the seed alone: start\(1, 0\) in a used environment",
    ),
    "goal without a seed": (
        {"kind": broken(Walk, reset=unseeded_goal)},
        r"the goal does not depend on the seed alone.*differs in coordinate 2 \(battery\)",
    ),
    "start that remembers": (
        {"kind": broken(Walk, reset=remembering)},
        "the observation does not depend on the seed alone",
    ),
    "one goal with three names": (
        {"kind": broken(Walk, reset=one_place)},
        r"official goals 1 and 2 are the same: .*options\['task_id'\]",
    ),
    "actions": (
        {"kind": broken(Walk, action_space=spaces.Tuple((DISCRETE, DISCRETE)))},
        "has actions of the kind Tuple",
    ),
    "actions outside": (
        {"adapter": broken(WalkAdapter, action=lambda _, values: 10 * values)},
        "which is not in the environment's action space",
    ),
    "range of actions": (
        {"action_range": (-1.0, 1.0)},
        r"action_range is \(-1.0, 1.0\), but the environment accepts actions from -0.1 to 0.1",
    ),
    "limit": ({"limit": 30}, "ends episodes after 30 steps, before the task's horizon of 40"),
    "ends early": (
        {"kind": broken(Walk, step=gives_up), "limit": None},
        "ended after 11 of 40 steps without success: shorten the horizon",
    ),
    "too generous": (
        {"kind": broken(Walk, radius=2 * RADIUS)},
        "success and the official query 'pos' disagree on .*reports reached at 1.8 tolerances",
    ),
    "too strict": (
        {"kind": broken(Walk, radius=0.4 * RADIUS)},
        "disagree on .*reports not reached at 0.45 tolerances",
    ),
    "put": (
        {"adapter": broken(WalkAdapter, put=half_put)},
        r"put\(state\) does not restore pos",
    ),
    "put fails": (
        {"adapter": broken(WalkAdapter, put=fail)},
        "checking states near the goals failed with RuntimeError: no motor",
    ),
    "pace": ({"adapter": broken(WalkAdapter, step_seconds=0.0)}, "step_seconds must be above 0"),
    "push": ({"adapter": broken(WalkAdapter, pushes=None)}, "has push, but not pushes"),
    "picture": (
        {"adapter": broken(WalkAdapter, render=lambda *_: np.zeros((4, 4)))},
        r"render\(size\) must return uint8\[H, W, 3\], got float64\[4, 4\]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found(name: str) -> None:
    changes, told = BROKEN[name]
    with pytest.raises(TaskError, match=told):
        goalsets.check_task(walk_task(**changes))


ALONE = [name for name in BROKEN if name not in ("put fails", "start that remembers")]


@pytest.mark.parametrize("name", ALONE)
def test_and_nothing_else(name: str) -> None:
    """One broken thing gives findings of one kind: strangers should not be sent after others."""
    findings = inspect_task(walk_task(**BROKEN[name][0])).findings
    kinds = {re.sub(r"observation|goal|\d+|a used.*|another.*", "", f) for f in findings}
    assert len(kinds) == 1, findings


# --- Remarks -------------------------------------------------------------------------------------


def silent(self: Walk, action: Any) -> Any:
    return (*Walk.step(self, action)[:4], {})


def always_there(self: Walk, *, seed: int | None = None, options: Any = None) -> Any:
    return Walk.reset(self, seed=0, options=options)


REMARKS: dict[str, tuple[dict[str, Any], str]] = {
    "says no success": ({"kind": broken(Walk, step=silent)}, "only the official query judges"),
    "never succeeds": ({"adapter": Adapter}, "no visited state was a success"),
    "near the border": ({"kind": broken(Walk, radius=1.4 * RADIUS)}, "near the border"),
    "one start": ({"kind": broken(Walk, reset=always_there)}, "another seed gives the same start"),
    "no bounds": (
        {"kind": broken(Walk, action_space=spaces.Box(-np.inf, np.inf, (2,), np.float32))},
        "have no bounds",
    ),
    "own end": ({"kind": broken(Walk, step=gives_up)}, "the environment may end episodes early"),
    "cannot look": ({"adapter": broken(WalkAdapter, look=Adapter.look)}, "could not be checked"),
    "half a put": (
        {"adapter": broken(WalkAdapter, put=lambda self, s: self.inner.state.put([0, 1], s[:2]))},
        r"put\(state\) does not restore battery",
    ),
    "no pace": ({"kind": broken(Walk, metadata={})}, "the duration of a step is unknown"),
    "no picture": ({"kind": broken(Walk, render=fail)}, "could not be drawn here: no motor"),
    "no names": (
        {"layout": StateLayout(3, [Group("pos", (0, 1), tolerance=0.5)], task="pos")},
        "1 coordinates have no name",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REMARKS)
def test_what_it_cannot_do_is_a_remark(name: str) -> None:
    changes, told = REMARKS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        remarks = "\n".join(goalsets.check_task(walk_task(**changes)))
    assert re.search(told, remarks), remarks


# --- Those that come with goalsets ----------------------------------------------------------------


@pytest.mark.parametrize("name", ["tabletop-single-v0", "tabletop-double-v0"])
def test_the_tabletop_fits(name: str) -> None:
    assert goalsets.check_task(name) == []


SOME = ["cube-single-noisy-v0", "scene-play-v0", "pointmaze-medium-navigate-v0"]


@pytest.mark.full
@pytest.mark.parametrize("name", SOME)
def test_ogbench_fits(name: str) -> None:
    pytest.importorskip("ogbench")
    remarks = goalsets.check_task(name)
    assert not any("disagree" in text for text in remarks), remarks


@pytest.mark.slow
@pytest.mark.parametrize("name", {task.env_id: name for name, task in TASKS.items()}.values())
def test_every_environment_fits(name: str) -> None:
    goalsets.check_task(name)


def test_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cli.main(["tasks", "check", "tabletop-single-v0"])
    assert "tabletop-single-v0 fits: nothing is missing" in capsys.readouterr().out
    monkeypatch.setitem(TASKS._entries, "walk-v0", walk_task(limit=30, adapter=Adapter))
    with pytest.raises(SystemExit):
        cli.main(["tasks", "check", "walk-v0"])
    printed = capsys.readouterr()
    assert "remark: cannot be pushed" in printed.out
    assert "walk-v0 does not fit:\n  the environment ends episodes after 30 steps" in printed.err
