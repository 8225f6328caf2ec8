"""The base installation works, and what lacks an extra says in a sentence what to install."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from goalsets.core.extras import EXTRAS, needed_by
from goalsets.data.writer import write_store
from goalsets.envs.tabletop import record_play, tabletop_layout
from tests.public.refusing import run_without

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SIMULATORS = ("gymnasium", "mujoco", "ogbench", "dm_control")


@pytest.fixture(scope="module")
def project() -> dict[str, list[str]]:
    """The distributions of each extra; the base is under "base"."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    given = {"base": told["dependencies"], **told["optional-dependencies"]}
    return {extra: [_name(text) for text in texts] for extra, texts in given.items()}


def _name(requirement: str) -> str:
    found = re.match(r"goalsets\[[\w,]+\]|[\w-]+", requirement)
    assert found is not None
    return found[0].lower().replace("-", "_")


def test_each_library_is_in_the_extra_that_is_named_and_not_in_the_base(project):
    names = {"PIL": "pillow"}
    for module, extra in EXTRAS.items():
        if module == "dm_control":  # comes with OGBench
            continue
        assert names.get(module, module) in project[extra], module
        assert names.get(module, module) not in project["base"], module


def test_the_runtime_brings_no_torch(project):
    assert project["runtime"] == ["onnxruntime"]


def write_logs(where: Path) -> None:
    where.mkdir()
    rng = np.random.default_rng(0)
    for episode in range(5):
        table = np.cumsum(rng.normal(scale=0.01, size=(30, 4)), axis=0)
        np.savetxt(
            where / f"{episode}.csv",
            table,
            delimiter=",",
            comments="",
            header="observation.x,observation.y,action.vx,action.vy",
        )


WORKING = (
    ["--version"],
    ["--help"],
    ["train", "--help"],
    ["data", "import", "csv", "logs", "--output", "store"],
    ["data", "inspect", "store"],
    ["tasks"],
    ["tasks", "show", "cube-single-noisy-v0"],
    ["query", "cube_pos & eff_yaw:20deg", "--task", "tabletop-single-v0"],
)
LACKING = {
    ("train", "store"): "train",
    ("quickstart",): "train,sim",
    ("ask", "runs/mine", "--query", "all"): "train",
    ("check", "runs/mine"): "train",
    ("eval", "runs/mine"): "train",
    ("plan", "runs/mine"): "train",
    ("distance", "runs/mine"): "train",
    ("landscape", "runs/mine"): "train",
    ("report", "runs/mine"): "train",
    ("sweep", "mine.yaml"): "train",
    ("export", "runs/mine"): "train",
    ("serve", "runs/mine"): "serve",
    ("play", "runs/mine"): "play",
    ("suite", "run", "runs/mine", "--suite", "suite.json"): "train",
    ("tasks", "check", "cube-single-noisy-v0"): "sim",
    ("tasks", "check", "tabletop-single-v0"): "sim",
    ("data", "collect", "cube-single-noisy-v0", "--output", "collected"): "sim",
    ("data", "import", "minari", "nothing"): "minari",
    ("data", "import", "hdf5", "nothing.hdf5"): "hdf5",
}


def test_the_base_has_the_core_and_the_data_tools_and_says_what_else_to_install(tmp_path):
    write_logs(tmp_path / "logs")
    commands = [*WORKING, *(list(words) for words in LACKING)]
    said = run_without(EXTRAS, commands, tmp_path)
    for words, told in zip(WORKING, said, strict=False):
        assert told.code == 0, (words, told.err)
    inspected = said[len(WORKING) - 4].out
    assert "5 episodes" in inspected or "4 episodes" in inspected
    for (words, extra), told in zip(LACKING.items(), said[len(WORKING) :], strict=True):
        assert told.code == 2, (words, told.err)
        sentence = rf'error: .+ needs \w+, .+ \(.+\): pip install "goalsets\[{extra}\]"'
        assert re.fullmatch(sentence, told.err.strip()), (words, told.err)


def test_help_imports_nothing_heavy(tmp_path):
    """Where everything is installed, too: help is shown in a moment."""
    said = run_without((), [["--version"], ["--help"], ["train", "--help"]], tmp_path)
    heavy = {*EXTRAS, "scipy", "safetensors", "jinja2"}
    assert [sorted(heavy.intersection(told.loaded)) for told in said] == [[], [], []]


@pytest.mark.full
def test_logs_are_trained_on_without_a_simulator(tmp_path):
    episodes = record_play(20, 40, seed=1).episodes()
    write_store(tmp_path / "store", episodes, layout=tabletop_layout(1))
    steps = ["--steps", "5", "--hidden", "16", "--batch-size", "16"]
    said = run_without(
        SIMULATORS,
        [
            ["train", "store", "--horizon", "20", *steps, "--output", "run"],
            ["train", "tabletop-single-v0", "--data", "store", *steps, "--output", "known"],
            ["eval", "known"],
        ],
        tmp_path,
    )
    assert [told.code for told in said] == [0, 0, 2], [told.err for told in said]
    assert "training goes on without evaluations: the environment of tabletop" in said[1].err
    assert said[2].err.startswith("error: the environment of tabletop-single-v0 needs gymnasium")


def test_python_says_what_to_install_too():
    # In a process of its own: here, torch has been imported long ago.
    code = "import sys; sys.modules['torch'] = None; import goalsets; goalsets.load('runs/mine')"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    told = ended.stderr.strip().splitlines()[-1]
    assert re.search(r'MissingExtraError: loading a run needs torch.+goalsets\[train\]"$', told)


def test_a_fault_of_the_code_is_not_called_a_missing_extra():
    with pytest.raises(ImportError, match="cannot import name"):
        with needed_by("loading"):
            from goalsets.core import nothing_of_this_name  # noqa: F401
