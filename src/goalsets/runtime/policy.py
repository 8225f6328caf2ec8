"""RuntimePolicy: an exported policy that acts like the original."""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, Query, StateLayout
from goalsets.core.acting import ActionQueue, Memory
from goalsets.core.extras import needed_by, require
from goalsets.core.inputs import Asked, InputReader, QueryLike
from goalsets.runtime.model_file import (
    ACTION,
    DISTANCE,
    INPUTS,
    ModelFile,
    ModelFileError,
    read_model_file,
)

if TYPE_CHECKING:
    from goalsets.plan import Planner, PlanningPolicy

Floats = NDArray[np.float32]
Masks = NDArray[np.bool_]


class RuntimePolicy:
    """An exported policy as a `goalsets.core.acting.Policy`.

    Args:
        file: The exported policy.
        threads: Threads to compute with. For one observation at a time, one thread is fastest.
    """

    def __init__(self, file: ModelFile, threads: int = 1) -> None:
        """Prepare to act; the distance network is loaded at the first call of `distance`."""
        self._file = file
        self._threads = threads
        self._actor = _Network(file, ACTION, threads)
        self._reader = InputReader(file.layout)
        self._heard = _read_heard(file)
        self._executed = _read_count(file, "executed") if _read_count(file, "chunk") > 1 else 0

    @property
    def layout(self) -> StateLayout:
        """The layout of the states."""
        return self._file.layout

    @property
    def card(self) -> Mapping[str, Any]:
        """What was trained, on what, and how well it did."""
        return self._file.card

    @property
    def answers(self) -> str:
        """What it answers, in words."""
        return str(self.card.get("answers", "any question"))

    @property
    def distance_unit(self) -> str | None:
        """The unit of its distance; None if it has no distance."""
        return str(self.card.get("distance", "steps")) if DISTANCE in self._file.outputs else None

    def hears(self, query: QueryLike) -> Masks:
        """Which coordinates of a goal the policy sees under a query: `[D]` or `[B, D]`."""
        masks = self._reader.mask(query)
        return masks if self._heard is None else np.broadcast_to(self._heard, masks.shape)

    def reset(self) -> Memory | None:
        """A memory for a new episode; None for policies that need none."""
        return ActionQueue(self._executed) if self._executed else None

    def act(
        self,
        observation: ArrayLike,
        goal: ArrayLike,
        query: QueryLike,
        *,
        rng: np.random.Generator | None = None,
        memory: Memory | None = None,
    ) -> Floats:
        """Choose actions `[A]` or `[B, A]`: see `goalsets.core.acting.Policy.act`."""
        if not self._executed:
            return self._actor(observation, goal, query)
        asked = self._reader.read(observation, goal, query)
        states, goals, masks = asked.each_row()
        queue = memory if memory is not None else ActionQueue(self._executed)
        found = queue.next(
            goals,
            self.hears(masks),
            lambda rows: self._actor(states[rows], goals[rows], masks[rows]),
        )
        return found[0] if asked.single else found

    def distance(self, observation: ArrayLike, goal: ArrayLike, query: QueryLike) -> Floats:
        """Predict how far the goal set is, `[]` or `[B]`, in `distance_unit`."""
        return self._ruler(observation, goal, query)

    def planning(self, planner: Planner | str | Path | None = None) -> PlanningPolicy:
        """The same policy, but acting by chains of questions: see `goalsets.plan`.

        Args:
            planner: A planner or its file; by default the one that was exported with the policy.
        """
        with needed_by("planning", "runtime"):
            from goalsets.runtime.planning import plan_with
        return plan_with(self, self._file.path, planner)

    @functools.cached_property
    def _ruler(self) -> _Network:
        if DISTANCE not in self._file.outputs:
            learner = str(self.card.get("learner", "the learner")).upper()
            raise GoalsetsError(
                f"{learner} learns no distance: ask a policy of a learner with a value."
            )
        return _Network(self._file, DISTANCE, self._threads)


def load(path: str | Path, threads: int = 1) -> RuntimePolicy:
    """Load an exported policy.

    Only arithmetic in the file is executed. A file that contains anything else is refused, so a
    file from a stranger is safe to open.

    Args:
        path: The file that `goalsets export` wrote.
        threads: Threads to compute with.
    """
    return RuntimePolicy(read_model_file(path), threads)


def _read_heard(file: ModelFile) -> Masks | None:
    """The coordinates that the policy always sees; None if the query decides."""
    told, dim = file.card.get("hears"), file.layout.dim
    if told is None:
        return None
    indices = told if isinstance(told, list) else [-1]
    if not all(type(index) is int and 0 <= index < dim for index in indices):
        raise ModelFileError(
            f"{file.path} is refused: its card says that it hears {told!r}, expected "
            f"coordinates from 0 to {dim - 1}."
        )
    mask = np.zeros(dim, dtype=np.bool_)
    mask[indices] = True
    return mask


def _read_count(file: ModelFile, key: str) -> int:
    """A number of actions from the card; older files lack it, and decide one at a time."""
    told = file.card.get(key, 1)
    if type(told) is not int or not 1 <= told <= _MOST_ACTIONS:
        raise ModelFileError(
            f"{file.path} is refused: its card has {key} {told!r}, expected a whole number from 1 "
            f"to {_MOST_ACTIONS}."
        )
    return told


_MOST_ACTIONS = 1_000


class _Network:
    """One output of the file, computed by onnxruntime.

    A robot asks about one state at every step, usually with the same question. Reading arguments
    and binding arrays would then take as long as some layers. So the arrays of a single row are
    bound once and filled at each call, and an unchanged question is not read again.
    """

    def __init__(self, file: ModelFile, output: str, threads: int) -> None:
        session = _session(file, output, threads)
        self._reader = InputReader(file.layout)
        shape = (1, file.layout.dim)
        row = {
            "observation": np.zeros(shape, np.float32),
            "goal": np.zeros(shape, np.float32),
            "query": np.ones(shape, np.bool_),
        }
        answers = np.array(session.run([output], row)[0])
        binding = session.io_binding()
        for name, array in row.items():
            binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        binding.bind_output(output, "cpu", 0, answers.dtype, answers.shape, answers.ctypes.data)
        self._state, self._goal, self._mask = (row[name][0] for name in INPUTS)
        self._answer = answers.reshape(answers.shape[1:])  # a view, also where it is one number
        self._run_row = functools.partial(session.run_with_iobinding, binding)
        self._run_many = functools.partial(session.run, [output])
        self._free = threading.Lock()
        self._question: str | Query | None = None
        """The query whose mask is in `_mask`."""

    def __call__(self, observation: ArrayLike, goal: ArrayLike, query: QueryLike) -> Floats:
        """The output for one row without a batch dimension, or for each of many."""
        if not self._free.acquire(blocking=False):  # another thread uses the arrays
            return self._answer_many(self._reader.read(observation, goal, query))
        try:
            shape = self._state.shape
            same = query is self._question and query is not None
            if not (same and np.shape(observation) == shape and np.shape(goal) == shape):
                asked = self._reader.read(observation, goal, query)
                if not asked.single:
                    return self._answer_many(asked)
                self._question = query if isinstance(query, (str, Query)) else None
                self._mask[:] = asked.masks[0]
            self._state[:] = observation
            self._goal[:] = goal
            self._run_row()
            return self._answer.copy()[()]
        finally:
            self._free.release()

    def _answer_many(self, asked: Asked) -> Floats:
        shape = (asked.rows, asked.states.shape[1])
        arrays = {"observation": asked.states, "goal": asked.goals, "query": asked.masks}
        feed = {name: np.broadcast_to(array, shape) for name, array in arrays.items()}
        found = self._run_many(feed)[0]
        return found[0] if asked.single else found


def _session(file: ModelFile, output: str, threads: int) -> Any:  # noqa: ANN401 - onnxruntime's
    onnxruntime: Any = require("onnxruntime", "an exported policy")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors come as exceptions; warnings concern onnxruntime itself
    # A waiting thread must not keep a core busy that the robot needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            file.model(output), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime's errors have no common base class
        raise ModelFileError(f"{file.path} cannot be run: {error}") from None
