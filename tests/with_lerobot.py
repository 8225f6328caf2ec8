"""LeRobot, in a process of its own.

LeRobot requires an older torch and an older huggingface-hub than goalsets. So `make lerobot`
installs LeRobot and the packages that it imports into a directory beside the environment; the list
is tests/interop/lerobot.txt. Only the processes that `run` starts look there. They import torch,
NumPy and all else from the environment.
"""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = Path(sys.prefix) / "lerobot"
MISSING = None if (PACKAGES / ".installed").exists() else "needs LeRobot: run 'make lerobot'"
"""Why tests with LeRobot cannot run."""


def run(*words: str) -> str:
    """Run a module with arguments where it can import LeRobot, and return what it printed.

    Without LeRobot, the test is skipped.
    """
    if MISSING is not None:
        pytest.skip(MISSING)
    paths = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", __name__, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,  # first on the path: one of LeRobot's packages has a directory 'tests'
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def declared():
    """Declare the operators of torchvision if its compiled part does not load here.

    The wheel of torchvision needs the CUDA build of torch, but an environment may have the CPU
    build. torchvision's Python part registers functions for its operators, so it needs their names.
    Our tests call none of them.
    """
    import torch

    found = importlib.util.find_spec("torchvision")
    assert found is not None
    assert found.origin is not None
    place = Path(found.origin).parent
    library = torch.library.Library("torchvision", "FRAGMENT")
    try:
        torch.ops.load_library(place / "_C.so")
    except OSError:
        text = (place / "_meta_registrations.py").read_text()
        for name in sorted(set(re.findall(r'(?:register_meta\("|torchvision::)(\w+)', text))):
            library.define(f"{name}(Tensor a) -> Tensor")
    return library


if __name__ == "__main__":
    library = declared()  # the operators are gone when nobody holds it
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
