"""Experts: small trained policies that walk in a given direction.

Their weights are safetensors files in this directory. `tools/train_ant_expert.py` trains and
exports them with Stable-Baselines3. Using one needs only NumPy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goalsets.collect.errors import CollectError
from goalsets.core.door import read_bytes
from goalsets.core.door.tensors import read_arrays, sealed
from goalsets.core.errors import FileError

DIRECTORY = Path(__file__).parent
MOST_BYTES = 1_000_000
"""The largest file of weights. They are part of the package, so they must be small."""

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]

_TRAINING = {
    "ant": "python tools/train_ant_expert.py (with the extra 'experts'; an hour or so on two cores)"
}


@dataclass(frozen=True)
class Expert:
    """A multi-layer perceptron: the mean action of a squashed Gaussian policy."""

    layers: Sequence[Layer]
    """Weight `[out, in]` and bias `[out]` of each layer. ReLU between layers, tanh at the end."""

    def __post_init__(self) -> None:
        """Check that the layers fit each other."""
        if not self.layers:
            raise CollectError("an expert needs at least one layer, got none.")
        size = self.inputs
        for number, (weight, bias) in enumerate(self.layers):
            if weight.shape != (len(bias), size):
                raise CollectError(
                    f"layer {number} of an expert should have a weight of shape "
                    f"{(len(bias), size)}, got {weight.shape}."
                )
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise CollectError(f"layer {number} of an expert has weights that are not finite.")
            size = len(bias)

    @property
    def inputs(self) -> int:
        """The number of inputs: a state without its position, and a direction."""
        return self.layers[0][0].shape[1]

    @property
    def outputs(self) -> int:
        """The number of components of an action."""
        return len(self.layers[-1][1])

    def act(self, state: NDArray[np.floating], direction: Sequence[float]) -> NDArray[np.float32]:
        """Return the action `[A]`, within [-1, 1], to walk in a direction.

        Args:
            state: `[D]`; its first two coordinates are the position, which is not used.
            direction: The unit vector to walk along.
        """
        values = np.empty(self.inputs, dtype=np.float32)
        values[:-2] = state[2:]
        values[-2:] = direction
        *hidden, (weight, bias) = self.layers
        for inner, shift in hidden:
            values = np.maximum(inner @ values + shift, 0.0)
        return np.tanh(weight @ values + bias)


def has_expert(name: str) -> bool:
    """Whether the file with an expert's weights exists."""
    return (DIRECTORY / f"{name}.safetensors").is_file()


def expert_path(name: str) -> Path:
    """Return the file with an expert's weights, or raise an error that says how to make it."""
    path = DIRECTORY / f"{name}.safetensors"
    if not path.is_file():
        raise CollectError(
            f"collecting this data needs a trained {name}, but there are no weights in {path}. "
            f"Train it: {_TRAINING[name]}. Or download the data: goalsets data import ogbench NAME."
        )
    return path


def load_expert(name: str) -> Expert:
    """Read an expert by name."""
    return read_expert(expert_path(name))


def expert_fingerprint(name: str) -> str:
    """A digest of an expert's weights: data that is collected with it depends on them."""
    return hashlib.sha256(read_bytes(expert_path(name))).hexdigest()[:16]


def read_expert(path: Path) -> Expert:
    """Read an expert from a file."""
    try:
        arrays, _ = read_arrays(path)
        layers = [
            (arrays[f"{number}.weight"], arrays[f"{number}.bias"])
            for number in range(len(arrays) // 2)
        ]
    except (FileError, KeyError) as error:
        raise CollectError(
            f"{path} is not an expert: expected layers '0.weight', '0.bias', '1.weight', ... "
            f"({error})"
        ) from None
    return Expert(layers)


def write_expert(path: Path, expert: Expert, about: Mapping[str, str]) -> None:
    """Write an expert, with a note about its origin, in one step."""
    from safetensors.numpy import save

    from goalsets.collect.files import write_in_one_step

    arrays: dict[str, NDArray[np.float32]] = {}
    for number, (weight, bias) in enumerate(expert.layers):
        arrays[f"{number}.weight"] = np.ascontiguousarray(weight, dtype=np.float32)
        arrays[f"{number}.bias"] = np.ascontiguousarray(bias, dtype=np.float32)
    content = sealed(save, arrays, about)
    if len(content) > MOST_BYTES:
        raise CollectError(
            f"an expert may take {MOST_BYTES:,} bytes, got {len(content):,}: make it smaller."
        )
    write_in_one_step(path, lambda file: file.write(content))
