"""Steps of the released code, from the checkout in GOALSETS_RELEASED. Nothing is copied."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from goalsets.core import GoalsetsError
from goalsets.data.trajectories import Trajectories

_HORIZON, _CUBE = 200, [19, 20, 21]


def make_step(name: str, batch_size: int, data: Trajectories) -> Callable[[], Any]:
    """One iteration of its `main.py`, without its logger."""
    root = os.environ["GOALSETS_RELEASED"]
    if root not in sys.path:
        sys.path.insert(0, root)
    agents = importlib.import_module("src.agent").agents_dict
    sampler_kind = importlib.import_module("src.data.gc_datasampler").GCDataSampler
    about = {"max_task_length": _HORIZON, "proj_goal_idxs": _CUBE, "state_semantics": {}}
    sampler = sampler_kind(source(data, about), torch.device("cpu"), False)
    params = {
        "state_dim": sampler.state_dim,
        "action_dim": sampler.action_dim,
        "proj_goal_idxs": _CUBE,
        "max_task_length": _HORIZON,
        "agent": {"name": name, "alpha": 1.0},
        "her_type": "gs_her_learned",
    }
    return Iteration(agents[name](params=params), sampler, batch_size, "blockwise", 8e-4)


class Iteration:
    """A gradient step of one of its agents, with batches of its own sampler."""

    def __init__(
        self, agent: Any, sampler: Any, batch_size: int, queries: str | None, rate: float
    ) -> None:
        self._agent, self._sampler = agent, sampler
        self._optimiser = torch.optim.AdamW(agent.parameters(), lr=rate)
        shares = ("value_p_goal_curr", "value_p_goal_traj", "value_p_goal_rand")
        shares += ("actor_p_goal_curr", "actor_p_goal_traj", "actor_p_goal_rand")
        mixture = {share: getattr(agent, share) for share in shares}
        self._wanted = {"batch_size": batch_size, "query_strategy": queries, **mixture}

    def __call__(self) -> None:
        batch = self._sampler.sample(**self._wanted)
        loss, info = self._agent.forward_train(data_dict=batch)
        self._optimiser.zero_grad()
        loss.backward()
        self._agent.clip_grad_norm(max_norm=1.0, info=info)
        self._optimiser.step()
        self._agent.ema_update()


def source(data: Trajectories, about: Mapping[str, Any]) -> SimpleNamespace:
    """Our data as the object that its sampler reads.

    Args:
        data: Episodes of one length.
        about: The task in its own words: horizon, official coordinates, groups.
    """
    episodes = data.num_episodes
    if len(set(data.lengths.tolist())) != 1:
        raise GoalsetsError("the released code reads episodes of one length only.")
    states = torch.from_numpy(np.array(data.observations)).reshape(
        episodes, -1, data.observations.shape[1]
    )
    actions = torch.from_numpy(np.array(data.actions)).reshape(episodes, -1, data.actions.shape[1])[
        :, :-1
    ]
    return SimpleNamespace(
        obs_dim=states.shape[-1],
        act_dim=actions.shape[-1],
        states=states,
        actions=actions,
        **about,
    )
