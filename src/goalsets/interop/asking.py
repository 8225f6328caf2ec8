"""A policy that remembers its question, for programs that pass observations only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, Query
from goalsets.core.acting import Memory, Policy
from goalsets.core.inputs import InputReader, QueryLike

Floats = NDArray[np.float32]


class Asker:
    """A policy with its current question.

    When the question changes, actions that were decided ahead are dropped.

    Args:
        policy: The policy of a run, or an exported one.
    """

    def __init__(self, policy: Policy) -> None:
        """No question yet."""
        self.policy = policy
        self.goal: Floats | None = None
        """The reference, `[D]` or `[B, D]`."""
        self.query: QueryLike | None = None
        self._reader = InputReader(policy.layout)
        self._memory: Memory | None = policy.reset()

    def ask(self, goal: ArrayLike, query: QueryLike) -> None:
        """Ask this from now on, in this episode and later ones."""
        reference = np.asarray(goal, dtype=np.float32)
        # Parse it here, so that a mistake is reported where it was made.
        read = Query.parse(query, self.policy.layout) if isinstance(query, str) else query
        self._reader.read(reference, reference, read)
        self.goal, self.query = reference, read

    def reset(self) -> None:
        """Begin an episode: drop actions that were decided ahead, keep the question."""
        self._memory = self.policy.reset()

    def act(self, states: ArrayLike) -> Floats:
        """The next actions `[A]` or `[B, A]`."""
        goal, query = self._question()
        return self.policy.act(states, goal, query, memory=self._memory)

    def act_ahead(self, states: ArrayLike) -> Floats:
        """The actions `[B, K, A]` that would be taken before the policy decides again.

        K is 1 for policies that decide one action at a time. The next call of `act` is not
        affected.
        """
        goal, query = self._question()
        rows = np.atleast_2d(np.asarray(states, dtype=np.float32))
        memory = self.policy.reset()
        found = [self.policy.act(rows, goal, query, memory=memory)]
        while getattr(memory, "left", 0):  # only a queue of actions has some left
            found.append(self.policy.act(rows, goal, query, memory=memory))
        return np.stack(found, axis=1)

    def _question(self) -> tuple[Floats, QueryLike]:
        if self.goal is None or self.query is None:
            raise GoalsetsError(
                "the policy has no question yet: give it a goal state and a query, such as "
                "ask(state, 'cube_pos')."
            )
        return self.goal, self.query


def load_policy(path: str | Path) -> Policy:
    """A policy from a run directory, or from a file that `goalsets export` wrote."""
    place = Path(path).expanduser()
    if place.suffix == ".onnx":
        from goalsets.runtime import load

        return load(place)
    from goalsets import load as load_run

    return load_run(place)
