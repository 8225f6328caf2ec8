"""Stable-Baselines3: a hindsight replay buffer that also draws new queries.

Stable-Baselines3's own `HerReplayBuffer` works with a `GoalSetEnv`: it replaces the goal and keeps
the query of the episode. But an achieved state, taken as the reference, satisfies every query. So
`GoalSetReplayBuffer` also draws a new query with each relabeled goal. That is GS-HER.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import GoalsetsError, StateLayout
from goalsets.core.extras import needed_by
from goalsets.core.packing import pack_goal
from goalsets.interop.sb3_evaluation import GoalSetEvalCallback
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, QueryDistribution

with needed_by("goalsets.interop.sb3", "sb3"):
    from stable_baselines3 import HerReplayBuffer  # pyright: ignore[reportMissingImports]
    from stable_baselines3.common.type_aliases import (  # pyright: ignore[reportMissingImports]
        DictReplayBufferSamples,
    )

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import (  # pyright: ignore[reportMissingImports]
        VecNormalize,
    )

__all__ = ["GoalSetEvalCallback", "GoalSetReplayBuffer"]

Indices = NDArray[np.integer]


class GoalSetReplayBuffer(HerReplayBuffer):
    """Relabels with a later state of the episode and a new query.

    Unlike its base class, it also decides again whether a relabeled transition ends the episode:
    the end at one goal is not an end for another goal. So it works with environments that end at
    the goal and with environments that go on.

    Args:
        args: Arguments of `HerReplayBuffer`.
        queries: The queries to relabel with: a distribution, or its name, such as "semantic"; by
            default the environment's own.
        kwargs: Arguments of `HerReplayBuffer`. The environments must be `GoalSetEnv`s.
    """

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - its base's
        queries: str | QueryDistribution | None = None,
        **kwargs: Any,  # noqa: ANN401 - its base's
    ) -> None:
        """Take the layout from the environments."""
        super().__init__(*args, **kwargs)
        assert self.env is not None
        try:
            self.layout: StateLayout = self.env.get_attr("layout", indices=[0])[0]
            own: QueryDistribution = self.env.get_attr("queries", indices=[0])[0]
        except AttributeError:
            raise GoalsetsError(
                "GoalSetReplayBuffer needs environments that are GoalSetEnvs, which have a layout "
                "and queries."
            ) from None
        if isinstance(queries, str):
            queries = QUERY_DISTRIBUTIONS[queries]()
        self.queries: QueryDistribution = queries or own
        # Stable-Baselines3 seeds NumPy's global generator: seed ours from it, so one seed decides.
        self._rng = np.random.default_rng(np.random.randint(2**31))  # noqa: NPY002

    def _get_virtual_samples(
        self, batch_indices: Indices, env_indices: Indices, env: VecNormalize | None = None
    ) -> DictReplayBufferSamples:
        """Put a new goal and a new query into transitions, and compute rewards and ends again."""
        later = self._later_states(batch_indices, env_indices)
        masks = self.queries.sample(self.layout, len(later), self._rng)
        desired = pack_goal(later, masks)
        now, after = (
            self._ask(stored, batch_indices, env_indices, desired, masks)
            for stored in (self.observations, self.next_observations)
        )
        rewards, ended = (
            self._judge(method, after["achieved_goal"], desired)
            for method in ("compute_reward", "compute_terminated")
        )
        return DictReplayBufferSamples(
            observations=self._tensors(now, env),
            actions=self.to_torch(self.actions[batch_indices, env_indices]),
            next_observations=self._tensors(after, env),
            dones=self.to_torch(ended),
            rewards=self.to_torch(self._normalize_reward(rewards, env)),
        )

    def _later_states(self, batch_indices: Indices, env_indices: Indices) -> NDArray[np.float32]:
        """The full states that become references, chosen by the strategy of the base class."""
        # The base class reads goals from `achieved_goal`: put the full states there for a moment.
        stored = self.next_observations
        packed = stored["achieved_goal"]
        stored["achieved_goal"] = stored["observation"]
        try:
            return self._sample_goals(batch_indices, env_indices)
        finally:
            stored["achieved_goal"] = packed

    @staticmethod
    def _ask(
        stored: dict[str, NDArray[Any]],
        batch_indices: Indices,
        env_indices: Indices,
        desired: NDArray[np.float32],
        masks: NDArray[np.bool_],
    ) -> dict[str, NDArray[Any]]:
        """Stored observations with another question."""
        observed = {key: values[batch_indices, env_indices] for key, values in stored.items()}
        observed["achieved_goal"] = pack_goal(observed["observation"], masks)
        observed["desired_goal"] = desired
        observed["query"] = masks.astype(np.float32)
        return observed

    def _judge(
        self, method: str, achieved: NDArray[Any], desired: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Rewards `[B, 1]` by the first environment, like the base class: all are alike."""
        assert self.env is not None
        infos = [{} for _ in range(len(desired))]
        answer = self.env.env_method(method, achieved, desired, infos, indices=[0])[0]
        return np.asarray(answer, dtype=np.float32).reshape(-1, 1)

    def _tensors(
        self, observed: dict[str, NDArray[Any]], env: VecNormalize | None
    ) -> dict[str, Any]:
        normalised: Any = self._normalize_obs(observed, env)
        return {key: self.to_torch(values) for key, values in normalised.items()}
