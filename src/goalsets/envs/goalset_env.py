"""GoalSetEnv: Gymnasium's goal environments with the query inside.

Some trainers, such as those with hindsight replay, know goals only as `achieved_goal` and
`desired_goal`, and pass only these two to `compute_reward`. Here both are packed: [q ⊙ s, q] and
[q ⊙ g, q]. When a trainer replaces the desired goal by a later achieved goal, the query comes with
it, and the reward is computed under this query.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, Query, StateLayout
from goalsets.core.goalset import all_terms_hold, mean_squared_distance
from goalsets.core.packing import pack_goal, unpack_goal
from goalsets.envs.adapter import Adapter, CannotError
from goalsets.envs.episode_queries import Queries, as_queries
from goalsets.envs.goalset_inputs import check_tolerances, checked_goals, with_tolerances
from goalsets.envs.observed import as_adapter, state_bounds
from goalsets.envs.tasks import TASKS

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]

ENV_ID = "goalsets/GoalSet-v0"
"""`gymnasium.make(ENV_ID, task="tabletop-single-v0")`, after importing this module."""

_DRAWS = 100
"""How often another goal is drawn if a goal is already reached."""


class GoalSetEnv(gymnasium.Env[Any, Any]):
    """An environment with a layout, whose goals are goal sets.

    An observation has four parts: `observation` `[D]`; `achieved_goal` and `desired_goal`, packed,
    `[2 D]` each; and `query` `[D]`, which is 1 at active coordinates. `reset` takes
    `options={"goal": [D], "query": "cube_pos & eff_yaw"}` and passes other options to the
    environment. The environment's own reward is not used. If the environment ends an episode
    because its own goal is reached, the episode continues; it may end for other reasons.

    Args:
        env: An environment that observes flat states or dictionaries; or the adapter of a task.
        layout: The layout of the states; by default the environment's own `layout`. For
            dictionaries without a layout, each key is a group.
        keys: For dictionaries: the dotted keys that make up the state, in order. By default all
            vectors of numbers, sorted by key, without `achieved_goal` and `desired_goal`.
        queries: Texts to draw from, or a query distribution; by default the layout's task.
        goals: `[N, D]`, references to draw from; by default the goal of the environment,
            `info["goal"]`. If the first state is already in the goal set of a reference, another
            reference is drawn.
        tolerances: By group: a number in observation units, or text such as `"2cm"`. They replace
            those of the layout. They belong to the environment, not to a query, because relabeling
            sees only masks.
        epsilon: Judge by the relaxed set d_q ≤ epsilon instead of by the tolerances.
        negative: Reward −1 outside the goal set and 0 inside, as Gymnasium-Robotics does;
            otherwise 0 and 1.
        terminate: Whether reaching the goal set ends the episode. Use False with
            Stable-Baselines3's own `HerReplayBuffer`, which does not relabel the ends of episodes.
            `goalsets.interop.sb3.GoalSetReplayBuffer` accepts both.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own

    def __init__(  # noqa: PLR0913 - all but the first are keyword arguments
        self,
        env: gymnasium.Env[Any, Any] | Adapter,
        *,
        layout: StateLayout | None = None,
        keys: Sequence[str] = (),
        queries: str | Sequence[str] | Queries | None = None,
        goals: ArrayLike | None = None,
        tolerances: Mapping[str, float | str] | None = None,
        epsilon: float | None = None,
        negative: bool = True,
        terminate: bool = True,
    ) -> None:
        """Check that the environment, the layout and the goals fit."""
        self._adapter, layout = as_adapter(env, layout, keys)
        self.env: gymnasium.Env[Any, Any] = self._adapter.env
        # The official query may contain tolerances: they count too.
        official = {} if layout.task is None else Query.parse("task", layout).tolerances
        self.layout: StateLayout = with_tolerances(layout, {**official, **(tolerances or {})})
        self.queries: Queries = as_queries(queries, self.layout)
        self.epsilon = epsilon
        self.negative = negative
        self.terminate = terminate
        if epsilon is None:
            check_tolerances(self.layout)
        self._goals = None if goals is None else checked_goals(goals, self.layout)
        self.action_space: gymnasium.Space[Any] = self.env.action_space
        ends = state_bounds(self._adapter, self.layout.dim)
        self.observation_space: gymnasium.Space[Any] = _observation_space(*ends)
        self.metadata = self.env.metadata
        self.render_mode: str | None = self.env.render_mode
        self._goal = np.zeros(2 * self.layout.dim, dtype=np.float32)

    @classmethod
    def within(cls, env: gymnasium.Env[Any, Any]) -> GoalSetEnv:
        """The GoalSetEnv inside other wrappers."""
        found = env.unwrapped
        if not isinstance(found, GoalSetEnv):
            raise GoalsetsError(f"expected a GoalSetEnv to evaluate in, got {env}.")
        return found

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Floats], dict[str, Any]]:
        """Start an episode. `info` has the full reference as `goal` and the `query` as text."""
        super().reset(seed=seed)
        rest = dict(options or {})
        goal, query = rest.pop("goal", None), rest.pop("query", None)
        first, info = self._adapter.reset(seed, rest or None)
        state = self._adapter.observe(first)
        mask = self._draw_query() if query is None else self._read_query(query)
        if goal is not None:
            reference = checked_goals(np.asarray(goal)[None], self.layout)[0]
        else:
            reference = self._draw_goal(state, mask, first, info)
        self._goal = pack_goal(reference, mask)
        reached = self._is_reached(state)
        told = {"goal": reference.copy(), "query": str(Query(self.layout, mask))}
        return self._observe(state), {**info, **told, "success": reached, "is_success": reached}

    def step(self, action: Any) -> tuple[dict[str, Floats], float, bool, bool, dict[str, Any]]:  # noqa: ANN401 - Gymnasium's own
        """Apply an action; reward and success are those of the goal set."""
        observed, _, ended, truncated, info = self.env.step(action)
        state = self._adapter.observe(observed)
        reached = self._is_reached(state)
        # An end because the environment's own goal is reached does not count: our goal is another.
        failed = bool(ended) and not self._adapter.success(info)
        terminated = failed or (self.terminate and reached)
        told = {"success": reached, "is_success": reached}
        return (
            self._observe(state),
            float(self._reward(np.bool_(reached))),
            terminated,
            bool(truncated),
            {**info, **told},
        )

    def render(self) -> Any:  # noqa: ANN401 - Gymnasium's own
        """The environment's picture."""
        return self.env.render()

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    # --- Judging, one or many at a time, with the signatures of Gymnasium-Robotics ----------------

    def compute_reward(self, achieved_goal: Floats, desired_goal: Floats, info: Any) -> Any:  # noqa: ANN401
        """The reward of packed goals `[2 D]` or `[N, 2 D]`: a number, or `float32[N]`."""
        rewards = self._reward(self._contains(achieved_goal, desired_goal))
        return float(rewards) if rewards.ndim == 0 else rewards

    def compute_terminated(self, achieved_goal: Floats, desired_goal: Floats, info: Any) -> Any:  # noqa: ANN401
        """Whether an episode ends there: True or False, or `bool[N]`."""
        ended = np.asarray(self._contains(achieved_goal, desired_goal)) & self.terminate
        return bool(ended) if ended.ndim == 0 else ended

    def compute_truncated(self, achieved_goal: Floats, desired_goal: Floats, info: Any) -> Any:  # noqa: ANN401
        """Always False: truncation depends on time, not on goals."""
        shape = np.broadcast_shapes(np.shape(achieved_goal), np.shape(desired_goal))[:-1]
        return np.zeros(shape, dtype=np.bool_) if shape else False

    def _contains(self, achieved: Floats, desired: Floats) -> Any:  # noqa: ANN401 - bool or array
        states, _ = unpack_goal(np.asarray(achieved))
        references, masks = unpack_goal(np.asarray(desired))
        if self.epsilon is not None:
            return mean_squared_distance(states, references, masks) <= self.epsilon
        return all_terms_hold(self.layout, states, references, masks)

    def _reward(self, reached: Any) -> Any:  # noqa: ANN401 - bool or array
        return np.asarray(reached, dtype=np.float32) - np.float32(self.negative)

    def _is_reached(self, state: Floats) -> bool:
        return bool(self._contains(pack_goal(state, self._mask), self._goal))

    # --- The query and the goal of an episode ----------------------------------------------------

    @property
    def _mask(self) -> Masks:
        return unpack_goal(self._goal)[1]

    def _observe(self, state: Floats) -> dict[str, Floats]:
        mask = self._mask
        return {
            "observation": state.copy(),
            "achieved_goal": pack_goal(state, mask),
            "desired_goal": self._goal.copy(),
            "query": mask.astype(np.float32),
        }

    def _draw_query(self) -> Masks:
        return self.queries.sample(self.layout, 1, self.np_random)[0]

    def _read_query(self, query: str | Query | ArrayLike) -> Masks:
        if not isinstance(query, str | Query):
            return Query(self.layout, np.asarray(query)).mask
        read = Query.parse(query, self.layout) if isinstance(query, str) else query
        if read.layout.dim != self.layout.dim:
            raise GoalsetsError(
                f"the query is over layout {read.layout.name!r}, but the environment is over "
                f"{self.layout.name!r}."
            )
        if read.tolerances:
            name = next(iter(read.tolerances))
            raise GoalsetsError(
                f"the query gives {name!r} a tolerance, but tolerances belong to the environment: "
                f"GoalSetEnv(..., tolerances={{{name!r}: {read.tolerances[name]:.4g}}})."
            )
        return read.mask

    def _draw_goal(
        self,
        state: Floats,
        mask: Masks,
        first: Any,  # noqa: ANN401 - whatever the environment observes
        info: Mapping[str, Any],
    ) -> Floats:
        if self._goals is None:
            try:
                own = self._adapter.goal_state(first, info)
            except CannotError:
                raise GoalsetsError(
                    "the environment gives no goal in info['goal']: give GoalSetEnv goals to draw "
                    "from, or reset it with options={'goal': state}."
                ) from None
            return checked_goals(own[None], self.layout)[0]
        achieved = pack_goal(state, mask)
        reference = self._goals[self.np_random.integers(len(self._goals))]
        for _ in range(_DRAWS):
            if not self._contains(achieved, pack_goal(reference, mask)):
                break
            reference = self._goals[self.np_random.integers(len(self._goals))]
        return reference


def make_goalset_env(task: str, render_mode: str | None = None, **settings: Any) -> GoalSetEnv:  # noqa: ANN401
    """Make a task's environment and wrap it; `settings` are those of `GoalSetEnv`."""
    known = TASKS[task]
    kwargs = {} if render_mode is None else {"render_mode": render_mode}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # many environments warn when they are made
        adapter = known.adapter(known, known.make(**kwargs))
    return GoalSetEnv(adapter, **{"layout": known.layout, **settings})


def _observation_space(low: Floats, high: Floats) -> spaces.Dict:
    """The space of observations, from the bounds of states `[D]`."""
    zeros, ones = np.zeros_like(low), np.ones_like(low)
    # Inactive coordinates of packed goals are zero.
    packed_low = np.concatenate((np.minimum(low, 0), zeros))
    packed_high = np.concatenate((np.maximum(high, 0), ones))
    return spaces.Dict(
        {
            "observation": spaces.Box(low, high, dtype=np.float32),
            "achieved_goal": spaces.Box(packed_low, packed_high, dtype=np.float32),
            "desired_goal": spaces.Box(packed_low, packed_high, dtype=np.float32),
            "query": spaces.Box(zeros, ones, dtype=np.float32),
        }
    )


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:make_goalset_env")
