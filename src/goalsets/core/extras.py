"""The extras of the package: which libraries they install, and the error if one is missing.

The base installation has the core, the data tools and the planner. Training, simulation and serving
need extras. Their libraries are imported only where they are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType

from goalsets.core.errors import GoalsetsError

EXTRAS: Mapping[str, str] = {
    "torch": "train",
    "tensorboard": "train",
    "gymnasium": "sim",
    "mujoco": "sim",
    "ogbench": "sim",
    "dm_control": "sim",
    "matplotlib": "figures",
    "PIL": "figures",
    "onnxruntime": "runtime",
    "onnx": "onnx",
    "onnxscript": "onnx",
    "fastapi": "serve",
    "prometheus_client": "serve",
    "uvicorn": "serve",
    "websockets": "client",
    "viser": "play",
    "mjviser": "play",
    "stable_baselines3": "sb3",
    "ray": "ray",
    "wandb": "wandb",
    "minari": "minari",
    "h5py": "hdf5",
    "pyarrow": "parquet",
    "mcap": "ros",
    "rosbags": "ros",
    "huggingface_hub": "hub",
}
"""Top-level modules, each with the extra that installs it."""


class MissingExtraError(GoalsetsError, ImportError):
    """Something needs a library that is not installed."""


@contextmanager
def needed_by(user: str, extra: str | None = None) -> Generator[None, None, None]:
    """Turn a failed import of an extra's library into one sentence that says what to install.

    Args:
        user: What needs the library, such as "training": the subject of the sentence.
        extra: The extra to name, if several install the library.
    """
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as error:
        module = (error.name or "").partition(".")[0]
        named = extra or EXTRAS.get(module)
        if not module or named is None:  # the code is wrong, not the installation
            raise
        raise MissingExtraError(
            f"{user} needs {module}, which cannot be imported ({error}): "
            f'pip install "goalsets[{named}]"'
        ) from None


def require(module: str, user: str, extra: str | None = None) -> ModuleType:
    """Import a library of an extra, or say how to install it: see `needed_by`."""
    with needed_by(user, extra):
        return importlib.import_module(module)


def check_installed(module: str, user: str, extra: str | None = None) -> None:
    """Check that a library is installed without importing it, which is quick: see `needed_by`."""
    with needed_by(user, extra):
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
