"""A step of the released code, from the checkout in GOALSETS_RELEASED. Nothing is copied."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from goalsets.data.trajectories import Trajectories

_HORIZON, _CUBE = 200, [19, 20, 21]


def make_step(name: str, batch_size: int, data: Trajectories) -> Callable[[], Any]:
    """One iteration of its `main.py`, without its logger."""
    root = os.environ["GOALSETS_RELEASED"]
    if root not in sys.path:
        sys.path.insert(0, root)
    agents = importlib.import_module("src.agent").agents_dict
    sampler_kind = importlib.import_module("src.data.gc_datasampler").GCDataSampler
    sampler = sampler_kind(_source(data), torch.device("cpu"), False)
    params = {
        "state_dim": sampler.state_dim,
        "action_dim": sampler.action_dim,
        "proj_goal_idxs": _CUBE,
        "max_task_length": _HORIZON,
        "agent": {"name": name, "alpha": 1.0},
        "her_type": "gs_her_learned",
    }
    agent = agents[name](params=params)
    optimiser = torch.optim.AdamW(agent.parameters(), lr=8e-4)
    shares = ("value_p_goal_curr", "value_p_goal_traj", "value_p_goal_rand")
    shares += ("actor_p_goal_curr", "actor_p_goal_traj", "actor_p_goal_rand")
    mixture = {share: getattr(agent, share) for share in shares}

    def step() -> None:
        batch = sampler.sample(batch_size=batch_size, query_strategy="blockwise", **mixture)
        loss, info = agent.forward_train(data_dict=batch)
        optimiser.zero_grad()
        loss.backward()
        agent.clip_grad_norm(max_norm=1.0, info=info)
        optimiser.step()
        agent.ema_update()

    return step


def _source(data: Trajectories) -> SimpleNamespace:
    """Our data as the object that its sampler reads."""
    episodes = data.num_episodes
    states = torch.from_numpy(data.observations).reshape(episodes, -1, data.observations.shape[1])
    actions = torch.from_numpy(data.actions).reshape(episodes, -1, data.actions.shape[1])[:, :-1]
    return SimpleNamespace(
        obs_dim=states.shape[-1],
        act_dim=actions.shape[-1],
        max_task_length=_HORIZON,
        proj_goal_idxs=_CUBE,
        state_semantics={},
        states=states,
        actions=actions,
    )
