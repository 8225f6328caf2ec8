"""OGBench's own JAX agents on our batches.

They are not in its package. `GOALSETS_OGBENCH_IMPLS` names the directory `impls` of a clone of
https://github.com/seohongpark/ogbench, in an environment that also has what its requirements.txt
names.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalsets.data.trajectories import Trajectories
from goalsets.envs.tabletop import record_play, tabletop_layout
from goalsets.interop.batches import RelabeledData
from goalsets.relabel.goals import GoalMixture

pytestmark = [
    pytest.mark.full,
    # Those of JAX and its libraries about each other.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
AGENTS = ("gcbc", "gcivl", "gciql", "crl", "qrl", "hiql")
PLAY = record_play(20, 60, seed=0)
SMALL = (32, 32)
VALUE_GOALS = {
    "crl": GoalMixture(p_current=0.0, p_future=1.0, p_random=0.0),
    "qrl": GoalMixture(p_current=0.0, p_future=0.0, p_random=1.0),
}
"""As OGBench's own configurations have them."""


@pytest.fixture(scope="module")
def impls() -> Iterator[Any]:
    """The package `agents`, with the names that its files import each other by."""
    where = os.environ.get("GOALSETS_OGBENCH_IMPLS")
    if not where:
        pytest.skip("GOALSETS_OGBENCH_IMPLS does not name OGBench's impls directory")
    if not (Path(where) / "agents").is_dir():
        pytest.fail(f"GOALSETS_OGBENCH_IMPLS is {where}, which has no directory 'agents'")
    pytest.importorskip("jax", reason="needs JAX, which OGBench's agents are written in")
    sys.path.insert(0, where)
    try:
        yield importlib.import_module("agents")
    finally:
        sys.path.remove(where)
        for name in [n for n in sys.modules if n.partition(".")[0] in ("agents", "utils")]:
            del sys.modules[name]


def make_data(agent: str) -> RelabeledData:
    return RelabeledData.from_trajectories(
        Trajectories.from_episodes(list(PLAY.episodes())),
        tabletop_layout(1),
        queries="blockwise",
        horizon=30,
        padded=True,
        value_goals=VALUE_GOALS.get(agent, GoalMixture()),
        subgoal_steps=10 if agent == "hiql" else None,
    )


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_learns_from_our_batches_and_answers_a_question(impls: Any, name: str) -> None:
    config = importlib.import_module(f"agents.{name}").get_config()
    hidden = [key for key in config if key.endswith("hidden_dims")]
    config.update(dict.fromkeys(hidden, SMALL))
    data = make_data(name)
    first = data.sample(1)
    agent = impls.agents[name].create(0, first["observations"], first["actions"], config)
    losses = []
    for _ in range(8):
        agent, told = agent.update(data.sample(64))
        losses.append(float(told["actor/actor_loss" if name != "hiql" else "low_actor/actor_loss"]))
        assert all(np.isfinite(np.asarray(value)).all() for value in told.values()), told
    assert losses[-1] != losses[0], "nothing was learned"
    state, reference = PLAY.observations[0, 0], PLAY.observations[3, 40]
    import jax

    actions = [
        np.asarray(
            agent.sample_actions(
                data.observation(state),
                data.goal(reference, query),
                seed=jax.random.PRNGKey(0),
                temperature=0.0,
            )
        )
        for query in ("cube_pos", "eff_pos", "all")
    ]
    assert actions[0].shape == (5,)
    assert np.isfinite(actions).all()
    assert not np.allclose(actions[0], actions[1], atol=1e-6), "the question makes no difference"
