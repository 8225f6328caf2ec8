"""RuntimePolicy: an exported policy that answers questions, as `goalsets.policy.Policy` does."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from goalsets.core import GoalsetsError, Query, StateLayout
from goalsets.core.inputs import Asked, InputReader
from goalsets.runtime.model_file import ACTION, DISTANCE, ModelFile, ModelFileError, read_model_file

Floats = NDArray[np.float32]


class RuntimePolicy:
    """Acts towards goal sets, and tells how far they are.

    Args:
        file: The exported policy.
        threads: To compute with. For one observation at a time one is fastest.
    """

    def __init__(self, file: ModelFile, threads: int = 1) -> None:
        """Prepare to act; what it takes to tell distances is prepared when they are asked for."""
        self._file = file
        self._threads = threads
        self._reader = InputReader(file.layout)
        self._act = _session(file, ACTION, threads).run

    @property
    def layout(self) -> StateLayout:
        """The layout of the states."""
        return self._file.layout

    @property
    def card(self) -> Mapping[str, Any]:
        """What was trained, on what, and how well it did."""
        return self._file.card

    def act(
        self, observation: ArrayLike, goal: ArrayLike, query: str | Query | ArrayLike
    ) -> Floats:
        """Choose actions, in the environment's units.

        Args:
            observation: `[D]`, or `[B, D]` for many at once.
            goal: The reference, `[D]` or `[B, D]`.
            query: Text, a `Query`, or a mask `[D]` or `[B, D]`.

        Returns:
            `[A]` or `[B, A]`, within [-1, 1].
        """
        asked = self._reader.read(observation, goal, query)
        actions = self._act([ACTION], _feed(asked))[0]
        return actions[0] if asked.single else actions

    def distance(
        self, observation: ArrayLike, goal: ArrayLike, query: str | Query | ArrayLike
    ) -> Floats:
        """Predict how far the goal set is, `[]` or `[B]`; not every learner can tell.

        `card["distance"]` says what it counts.
        """
        asked = self._reader.read(observation, goal, query)
        found = self._measure([DISTANCE], _feed(asked))[0]
        return found[0] if asked.single else found

    @functools.cached_property
    def _measure(self) -> Any:  # noqa: ANN401 - a method of onnxruntime's
        if DISTANCE not in self._file.outputs:
            learner = str(self.card.get("learner", "the learner")).upper()
            raise GoalsetsError(
                f"{learner} learns no distance: ask GCDL, GCIVL, GCIQL or CRL."
            )
        return _session(self._file, DISTANCE, self._threads).run


def load(path: str | Path, threads: int = 1) -> RuntimePolicy:
    """Load an exported policy.

    Nothing in the file is executed but its arithmetic: anything else is refused before it is read
    further, so a file from a stranger is safe to open.

    Args:
        path: What `goalsets export` wrote.
        threads: To compute with.
    """
    return RuntimePolicy(read_model_file(path), threads)


def _feed(asked: Asked) -> dict[str, NDArray[Any]]:
    """The inputs by name, all of as many rows."""
    arrays = {"observation": asked.states, "goal": asked.goals, "query": asked.masks}
    if asked.rows == 1:
        return arrays
    shape = (asked.rows, asked.states.shape[1])
    return {name: np.broadcast_to(array, shape) for name, array in arrays.items()}


def _session(file: ModelFile, output: str, threads: int) -> Any:  # noqa: ANN401 - onnxruntime's
    try:
        import onnxruntime  # pyright: ignore[reportMissingImports] - an extra
    except ImportError as error:
        raise GoalsetsError(
            f"running an exported policy needs onnxruntime, which cannot be imported ({error}). "
            'Install it with: pip install "goalsets[onnx]"'
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors come as exceptions; warnings are about its own insides
    # A thread that waits must not burn a core that the robot needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            file.model(output), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has a class for each of its errors, none in common
        raise ModelFileError(f"{file.path} cannot be run: {error}") from None
