"""The peers of `benchmarks.peers`, from their own checkouts. Nothing is copied.

Both read our store in memory, in the form in which their own code reads OGBench's files, and act as
in their own evaluations: OGBench's agents at temperature 0, the released code with its mean action.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from benchmarks.peers_entries import WHERE, Entry, Kind
from benchmarks.peers_race import AT_ONCE, Contestant
from goalsets.core import GoalsetsError, StateLayout
from goalsets.core.acting import Policy
from goalsets.data.store import Store
from goalsets.data.trajectories import Trajectories
from goalsets.envs.tasks import TASKS

Floats = NDArray[np.float32]
Act = Callable[[Floats, Floats], Floats]


class FixedQuestion:
    """A peer's agent as a policy: the official question is built into the peer."""

    answers, distance_unit = "the official question", None

    def __init__(self, layout: StateLayout, act: Act) -> None:
        self.layout, self._act = layout, act

    def hears(self, query: object) -> NDArray[np.bool_]:
        return np.ones(self.layout.dim, dtype=np.bool_)

    def reset(self) -> None:
        return None

    def act(self, observation: ArrayLike, goal: ArrayLike, query: object, **_: Any) -> Floats:
        return self._act(np.array(observation, np.float32), np.array(goal, np.float32))

    def distance(self, observation: ArrayLike, goal: ArrayLike, query: object) -> Floats:
        raise GoalsetsError("a peer is asked for actions only.")


class Released:
    """A learner of the paper's released code: one iteration of its `main.py`, without its logs."""

    def __init__(self, entry: Entry, store: Store, seed: int) -> None:
        import torch

        from benchmarks.released import source

        _import_from("released")
        self._torch, self._entry, self._layout = torch, entry, TASKS[entry.task].layout
        about = importlib.import_module("src.data.ogbench").env_specific_configuration[entry.task]
        self._data = source(store.train, about)
        self._sampler_kind = importlib.import_module("src.data.gc_datasampler").GCDataSampler
        self._normaliser_kind = importlib.import_module("src.normalize").EMANormalize
        self._agent_kind = importlib.import_module("src.agent").agents_dict[entry.learner]
        importlib.import_module("src.utils").seed_everything(seed)

    def prepare(self) -> None:
        from benchmarks.released import Iteration

        sampler = self._sampler_kind(self._data, self._torch.device("cpu"), False)
        self._states = self._normaliser_kind(shape=sampler.state_dim)
        self._actions = self._normaliser_kind(shape=sampler.action_dim)
        sampler.compute_normalization_stats(self._states, self._actions)
        told = self._entry.settings
        her_type, strategy = _SCHEMES[told["scheme"]]
        self._agent = self._agent_kind(
            params={
                "state_dim": sampler.state_dim,
                "action_dim": sampler.action_dim,
                "proj_goal_idxs": sampler.proj_goal_idxs,
                "max_task_length": sampler.max_task_length,
                "agent": {"name": self._entry.learner, "alpha": told["alpha"]},
                "her_type": her_type,
            }
        )
        rate = told["learning_rate"]
        self._iteration = Iteration(self._agent, sampler, told["batch_size"], strategy, rate)

    def step(self) -> bool:
        self._iteration()
        return True

    def policies(self) -> Mapping[str, Policy]:
        return {AT_ONCE: FixedQuestion(self._layout, self._act)}

    def _act(self, observation: Floats, goal: Floats) -> Floats:
        torch = self._torch
        self._agent.eval()
        with torch.no_grad():
            state, target = (
                self._states(torch.from_numpy(each)[None], update_stats=False)
                for each in (observation, goal)
            )
            action = self._actions.undo(self._agent.act(state=state, goal=target)).clamp(-1.0, 1.0)
        self._agent.train()
        return action[0].numpy()


_SCHEMES = {
    "her-full": ("her", None),
    "her-task": ("her_task", None),
    "gs-blockwise": ("gs_her_learned", "blockwise"),
    "gs-semantic": ("gs_her_learned", "semantic"),
}
"""Our names of schemes as its options `her_type` and `query_strategy`."""


class OGBench:
    """One of OGBench's agents: one iteration of its `impls/main.py`, without its logs."""

    def __init__(self, entry: Entry, store: Store, seed: int) -> None:
        import jax

        _import_from("ogbench")
        self._jax, self._layout = jax, TASKS[entry.task].layout
        config = importlib.import_module(f"agents.{entry.learner}").get_config()
        config.update(dict(entry.settings))
        self._config, self._seed = config, seed
        self._agent_kind = importlib.import_module("agents").agents[entry.learner]
        datasets = importlib.import_module("utils.datasets")
        # A compact data set, as its main.py asks for.
        kept = datasets.Dataset.create(**compact(store.train))
        self._data = getattr(datasets, config["dataset_class"])(kept, config)
        np.random.seed(seed)  # noqa: NPY002 - its data sets draw with NumPy's global generator

    def prepare(self) -> None:
        first = self._data.sample(1)
        kind, config = self._agent_kind, self._config
        self._agent = kind.create(self._seed, first["observations"], first["actions"], config)
        # Compile a step. Its result is thrown away, so that the first step is still the first.
        self._jax.block_until_ready(self._agent.update(self._data.sample(config["batch_size"])))

    def step(self) -> bool:
        self._agent, told = self._agent.update(self._data.sample(self._config["batch_size"]))
        # JAX would queue tens of steps and run past the mark. One core loses nothing by waiting.
        self._jax.block_until_ready(told)
        return True

    def policies(self) -> Mapping[str, Policy]:
        return {AT_ONCE: FixedQuestion(self._layout, self._act)}

    def _act(self, observation: Floats, goal: Floats) -> Floats:
        seed = self._jax.random.PRNGKey(0)  # at temperature 0 it does not matter
        found = self._agent.sample_actions(observation, goal, seed=seed, temperature=0.0)
        return np.clip(np.array(found, np.float32), -1.0, 1.0)


def compact(data: Trajectories) -> dict[str, NDArray[Any]]:
    """Our data as a compact data set of OGBench.

    Every state has a row. The last row of an episode starts no transition. Terminals mark the last
    two rows: the last transition, and the state after it.
    """
    last = data.offsets[1:] - 1
    valids = np.ones(data.num_states, np.float32)
    valids[last] = 0.0
    terminals = 1.0 - valids
    terminals[last - 1] = 1.0
    observations, actions = np.array(data.observations), np.array(data.actions)
    return {
        "observations": observations,
        "actions": actions,
        "terminals": terminals,
        "valids": valids,
    }


def make_contestant(entry: Entry, store: Store, seed: int) -> Contestant:
    """The contestant of an entry. Only its own libraries are imported."""
    if entry.kind == "ours":
        from benchmarks.peers_ours import Ours

        return Ours(entry, store, seed)
    return (Released if entry.kind == "released" else OGBench)(entry, store, seed)


def _import_from(kind: Kind) -> None:
    root = os.environ[WHERE[kind][0]]
    if root not in sys.path:
        sys.path.insert(0, root)
