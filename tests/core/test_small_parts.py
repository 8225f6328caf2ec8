"""Registry, episodes, and that the core stands on numpy alone."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from goalsets import Episode, GoalsetsError
from goalsets.core import Registry, UnknownNameError
from goalsets.core.errors import suggest


def test_registry() -> None:
    learners: Registry[int] = Registry("learner")
    assert learners.add("gcbc", 1) == 1
    assert learners["gcbc"] == 1
    assert "gcbc" in learners
    assert list(learners) == ["gcbc"]
    assert learners.items() == [("gcbc", 1)]
    assert len(learners) == 1
    with pytest.raises(UnknownNameError, match="unknown learner 'gcbd': did you mean 'gcbc'?"):
        learners["gcbd"]
    with pytest.raises(UnknownNameError, match="the learner name 'gcbc' is already taken"):
        learners.add("gcbc", 2)


def test_episode_shapes_are_checked() -> None:
    good = Episode(np.zeros((3, 2)), np.zeros((2, 1)), {"qpos": np.zeros((3, 7))})
    assert len(good) == 2
    with pytest.raises(GoalsetsError, match="got 3 observations and 3 actions"):
        Episode(np.zeros((3, 2)), np.zeros((3, 1)))
    with pytest.raises(GoalsetsError, match=r"got shapes \(3,\) and \(2, 1\)"):
        Episode(np.zeros(3), np.zeros((2, 1)))
    with pytest.raises(GoalsetsError, match="'qpos' needs a value for each of the 3"):
        Episode(np.zeros((3, 2)), np.zeros((2, 1)), {"qpos": np.zeros((2, 7))})


def test_core_needs_neither_torch_nor_anything_else() -> None:
    program = (
        "import sys; import goalsets; "
        "heavy = {'torch', 'gymnasium', 'mujoco', 'ogbench', 'matplotlib', 'scipy', 'yaml'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "listing", "text"),
    [
        ("robto-number-7", "list", "did you mean 'robot-number-7' or"),
        ("bot", "list", "'robot-number-2'? 17 more contain 'bot'; 'list' lists all."),
        ("zz", "list", "none of the 20 names is similar; 'list' lists them."),
        ("zz", "", "valid names: robot-number-0, robot-number-1,"),
    ],
)
def test_many_names_are_not_listed_where_a_command_does(name, listing, text):
    names = [f"robot-number-{i}" for i in range(20)]
    assert text in suggest(name, names, listing)


def test_a_program_under_a_name_that_nobody_can_import_is_no_plugin() -> None:
    """Workers of execnet run as `__channelexec__`; a run must not ask for a plugin of that name."""
    program = {"__name__": "__channelexec__", "Registry": Registry}
    exec(compile("names = Registry('x')\nnames.add('a', 1)", "worker.py", "exec"), program)
    names = program["names"]
    assert isinstance(names, Registry)
    assert names.plugin_of("a") is None
