"""The wheel in a fresh environment, installed by pip with the extra for robots and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from goalsets.cli import main
from tests.plan.runs import copy_of_run, place, question, store
from tests.public.test_extras import write_logs

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

ACT = """
import json, sys
import numpy as np
import goalsets, goalsets.runtime

first, goal = np.load(sys.argv[2])
policy = goalsets.runtime.load(sys.argv[1])
chain = policy.planning()
memory = chain.reset()
planned = chain.act(first, goal, "task", memory=memory)
heavy = {"torch", "gymnasium", "mujoco", "ogbench", "matplotlib"}
print(json.dumps({
    "from": goalsets.__file__,
    "action": policy.act(first, goal, "task").tolist(),
    "planned": planned.tolist(),
    "plan": chain.following(memory).plan.explain(),
    "heavy": sorted(heavy.intersection(sys.modules)),
}))
"""


def run(*words: str | Path, where: Path, code: int = 0) -> str:
    """Run a command that knows nothing of this source; what it printed."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "GOALSETS"))}
    done = subprocess.run(
        words, cwd=where, env=clean, capture_output=True, text=True, check=False, timeout=1800
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with `goalsets[runtime]`."""
    pytest.importorskip("hatchling", reason="needs the build backend, from the extra dev")
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, where=ROOT)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    run(
        *(programs / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"),
        *("-c", ROOT / "constraints.txt", f"{wheel}[runtime]"),
        where=folder,
    )
    return programs


def test_there_is_no_torch_and_nothing_else_that_is_heavy(installed: Path) -> None:
    listed = json.loads(
        run(installed / "python", "-m", "pip", "list", "--format", "json", where=installed)
    )
    names = {package["name"].lower() for package in listed}
    assert {"goalsets", "numpy", "onnxruntime", "scipy"} <= names
    assert not names & {"torch", "mujoco", "ogbench", "gymnasium", "matplotlib", "tensorboard"}


def test_the_command_line_reads_logs_and_says_what_to_install_to_train(
    installed: Path, tmp_path: Path
) -> None:
    goalsets = installed / "goalsets"
    write_logs(tmp_path / "logs")
    assert run(goalsets, "--version", where=tmp_path).startswith("goalsets ")
    assert "Deploy:" in run(goalsets, "--help", where=tmp_path)
    run(goalsets, "data", "import", "csv", "logs", "--output", "store", where=tmp_path)
    assert "episodes" in run(goalsets, "data", "inspect", "store", where=tmp_path)
    said = run(goalsets, "train", "store", where=tmp_path, code=2)
    assert 'pip install "goalsets[train]"' in said


def test_an_exported_policy_acts_and_plans_as_here(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store()
    trained = copy_of_run(tmp_path / "run")
    monkeypatch.setenv("GOALSETS_DATA", str(place() / "data"))
    main(["export", str(trained.path), "--plan"])
    first, asked = question(2)
    goal = np.asarray(asked.reference)
    np.save(tmp_path / "asked.npy", np.stack((first, goal)))
    file = trained.path / "policy.onnx"
    told = json.loads(
        run(installed / "python", "-c", ACT, file, tmp_path / "asked.npy", where=tmp_path)
    )
    assert str(installed.parent) in told["from"]
    assert told["heavy"] == []
    policy = trained.load()[0]
    np.testing.assert_allclose(told["action"], policy.act(first, goal, "task"), atol=1e-4)
    chain = policy.planning()
    memory = chain.reset()
    np.testing.assert_allclose(
        told["planned"], chain.act(first, goal, "task", memory=memory), atol=1e-4
    )
    assert told["plan"] == chain.following(memory).plan.explain()
