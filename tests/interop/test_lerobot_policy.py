"""The adapter for LeRobot: without LeRobot, and with it in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import distributions

import pytest
import torch
from packaging.requirements import Requirement

from tests import with_lerobot

pytestmark = pytest.mark.full


def test_without_lerobot_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['lerobot'] = None; import goalsets.interop.lerobot_policy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingExtraError: goalsets.interop.lerobot_policy needs LeRobot" in done.stderr
    assert done.stderr.strip().endswith("pip install lerobot")


@pytest.mark.skipif(with_lerobot.MISSING is not None, reason=str(with_lerobot.MISSING))
def test_lerobot_runs_with_our_torch() -> None:
    found = {d.name.lower(): d for d in distributions(path=[str(with_lerobot.PACKAGES)])}
    assert {"torch", "numpy"}.isdisjoint(found)
    required = map(Requirement, found["torchvision"].requires or [])
    (needed,) = (one.specifier for one in required if one.name == "torch")
    assert needed.contains(torch.__version__), "change torchvision in tests/interop/lerobot.txt"


@pytest.mark.timeout(300)
def test_with_lerobot() -> None:
    """All tests of lerobot_cases.py pass, and none is skipped."""
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    out = with_lerobot.run("pytest", *options, "tests/interop/lerobot_cases.py")
    last = out.splitlines()[-1]
    assert re.match(r"\d+ passed(, \d+ warnings?)? in", last), (
        f"expected no skipped tests, got: {last}"
    )
