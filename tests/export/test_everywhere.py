"""Every learner of the registry, wherever a policy goes: rollouts, files, the server, the page.

What is compared is a whole stretch of actions with the memory that each place keeps: a learner that
decides several actions at once must act the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from goalsets import runtime
from goalsets.core.acting import Policy
from goalsets.evaluate.official import official_specs
from goalsets.evaluate.rollout import make_runner, roll_out
from goalsets.learners import LEARNERS
from goalsets.play.setup import open_setup
from goalsets.play.show import Show
from goalsets.runs.run import Run
from goalsets.serve.client import Client
from tests.export.runs import STATES, exported, small_run
from tests.serve.conftest import Server, start

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(400),
]

QUESTIONS = ("block0_pos",) * 5 + ("eff_pos",) * 4
"""What is asked at each step: the second question comes in the middle of a decision."""


def acted(policy: Policy) -> np.ndarray:
    """What a policy does along some states, with one memory."""
    memory = policy.reset()
    return np.stack(
        [
            policy.act(state, STATES[-1], question, memory=memory)
            for state, question in zip(STATES, QUESTIONS, strict=False)
        ]
    )


@pytest.fixture(scope="module", params=LEARNERS)
def run(request: pytest.FixtureRequest) -> Run:
    return small_run(request.param)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server with a policy of every learner."""
    with start(*(f"{name}={small_run(name).path}" for name in LEARNERS)) as started:
        yield started


def test_a_file_does_what_the_policy_does(run: Run) -> None:
    policy = run.load()[0]
    file = runtime.load(exported(run.config.learner).path)
    np.testing.assert_allclose(acted(file), acted(policy), atol=1e-5)
    assert (file.distance_unit, file.answers) == (policy.distance_unit, policy.answers)
    np.testing.assert_array_equal(file.hears("eff_pos"), policy.hears("eff_pos"))


def test_a_session_does_what_the_policy_does(run: Run, server: Server) -> None:
    found: list[np.ndarray] = []
    name = run.config.learner
    with Client(server.url, name) as client:
        with client.session(STATES[-1], QUESTIONS[0]) as session:
            for state, question, before in zip(
                STATES, QUESTIONS, (QUESTIONS[0], *QUESTIONS), strict=False
            ):
                if question != before:
                    session.ask(query=question)
                found.append(session.act(state))
        told = client.model(name)
    np.testing.assert_allclose(np.stack(found), acted(run.load()[0]), atol=1e-6)
    assert told["distance"] == LEARNERS[name].distance_unit


def test_the_playground_does_what_a_rollout_does(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    show = Show(open_setup([run.path]))
    policy, stage = run.load()[0], show.stages[0]
    assert stage.goals is not None
    memory, rng = policy.reset(), np.random.default_rng(0)
    for _ in range(5):
        seen = stage.world.observation.copy()
        asked = (stage.goals.reference, stage.goals.query)
        expected = policy.act(seen, *asked, rng=rng, memory=memory)
        with monkeypatch.context() as watching:
            done: list[np.ndarray] = []
            watching.setattr(stage.world, "step", _noted(stage.world.step, done))
            show.step()
        np.testing.assert_allclose(done[0], expected, atol=1e-6)
    show.close()


def test_rollouts_depend_on_the_episode_alone(run: Run) -> None:
    """Not on the worker that runs them, nor on what it ran before."""
    specs = [replace(spec, trace=True) for spec in official_specs(run.config.task, 1)]
    here = make_runner(run.path, None)
    found = dict(roll_out(run.path, None, specs, workers=1))
    assert set(found) == set(specs)
    for spec in reversed(specs):
        there, own = found[spec].trace, here(spec).trace
        assert there is not None
        assert own is not None
        # A worker computes with the code that all processors have: last bits may differ.
        for name in ("observations", "actions"):
            np.testing.assert_allclose(there[name][:30], own[name][:30], atol=1e-3)


def _noted(step: Callable[[np.ndarray], None], done: list[np.ndarray]) -> Callable[..., None]:
    def noted(action: np.ndarray) -> None:
        done.append(action)
        step(action)

    return noted
