"""`--plugin`, on every command and in every process that a command starts.

Workers of evaluations, servers and sweeps: see tests/plugins/test_templates.py.
"""

from __future__ import annotations

import json
import signal
import urllib.request
from pathlib import Path

import pytest

from goalsets.cli import PLUGIN_HELP, main, take_plugins
from goalsets.core import GoalsetsError
from goalsets.data.store import Store
from goalsets.runs.run import Run, RunError
from tests.evaluate.conftest import TASK, make_store
from tests.plugin_files import QUERIES, SOURCE, goalsets, run_python, write
from tests.processes import started

PLUGIN = ("--plugin", "robots/my_robot.py")
TINY = ("--steps", "8", "--batch-size", "16", "--hidden", "32", "--threads", "1")


# --- The option ---


def test_it_stands_anywhere_and_may_be_repeated() -> None:
    line = "--plugin a eval run --plugin=b.py --step 4 --plugin c"
    assert take_plugins(line.split()) == (["eval", "run", "--step", "4"], ["a", "b.py", "c"])


@pytest.mark.parametrize("line", ["tasks --plugin", "tasks --plugin=", "tasks --plugin --help"])
def test_it_needs_a_name(line: str) -> None:
    with pytest.raises(GoalsetsError, match="--plugin needs a name: a module such as my_robot"):
        take_plugins(line.split())


@pytest.mark.parametrize(
    "command",
    ["", "data", "data import", "data import hdf5", "suite run", "sweep status", "tasks show"],
)
def test_every_help_tells_of_it(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*command.split(), "--help"])
    assert capsys.readouterr().out.endswith(PLUGIN_HELP + "\n")


@pytest.mark.full
def test_an_error_is_one_line(tmp_path: Path) -> None:
    path = write(tmp_path, "my_robot", "import no_such_library\n")
    done = goalsets("tasks", "--plugin", "my_robot", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: the plugin 'my_robot' (named by --plugin) cannot be imported: "
        f"ModuleNotFoundError: No module named 'no_such_library' ({path}, line 1).\n"
    )


@pytest.mark.full
def test_a_source_of_a_plugin_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says its own layout, and what the store is called."""
    write(tmp_path, "my_logs", SOURCE)
    (tmp_path / "arm.txt").write_text("0 1\n1 2\n2 3\n")
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path / "data"))
    words = ("data", "import", "text", "arm.txt", "--plugin", "my_logs")
    done = goalsets(*words, cwd=tmp_path)
    assert "9 episodes to train on (18 transitions), 1 to validate" in done.stdout, done.stderr
    assert Store.open(tmp_path / "data" / "text-arm").layout.group("pos").indices == (0, 1)
    without = goalsets(*words[:-2], cwd=tmp_path)
    assert without.returncode == 2
    assert "text" not in goalsets("data", "import", "--help", cwd=tmp_path).stdout.split()


# --- Processes that commands start ---


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stranger's directory: a plugin, data, and a run that was evaluated alongside."""
    path = tmp_path_factory.mktemp("stranger")
    write(path, "robots.my_robot")
    make_store(path / "data" / TASK)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOALSETS_DATA", str(path / "data"))
        scheme = ("--scheme", "gs-mine", "--output", "run", "--episodes", "1")
        done = goalsets("train", TASK, *PLUGIN, *scheme, *TINY, "--keep-every", "8", cwd=path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(autouse=True)
def _data(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "place" in request.fixturenames:
        monkeypatch.setenv("GOALSETS_DATA", str(request.getfixturevalue("place") / "data"))


@pytest.mark.full
def test_training_records_the_plugin_and_evaluates_with_it(place: Path) -> None:
    plain = json.loads((place / "run" / "config.json").read_text())
    assert plain["plugins"] == ["my_robot"]  # a module, and no path
    log = (place / "run" / "evaluations.log").read_text()
    assert "Traceback" not in log
    record = json.loads((place / "run" / "evaluations.jsonl").read_text().splitlines()[0])
    assert (record["kind"], record["step"]) == ("official", 8)


@pytest.mark.full
def test_without_the_plugin_a_run_says_what_it_needs(place: Path) -> None:
    done = goalsets("eval", "run", cwd=place)
    assert done.returncode == 2
    assert done.stderr == (
        "error: the run directory run cannot be read: it needs the plugin 'my_robot', not loaded "
        "here: add --plugin my_robot to the command, set GOALSETS_PLUGINS=my_robot, or install the "
        "package that has it. A run directory never imports a plugin by itself.\n"
    )
    with pytest.raises(RunError, match="needs the plugin 'my_robot'"):
        Run.open(place / "run")
    report = goalsets("report", "run", "-o", "page", cwd=place)
    assert "left out: it needs the plugin 'my_robot'" in report.stderr


@pytest.mark.full
def test_a_run_directory_imports_nothing(place: Path) -> None:
    """The plugin lies on the path, where an import would find it."""
    text = f"from pathlib import Path\nPath({str(place / 'imported')!r}).touch()\n{QUERIES}"
    write(place / "site", "my_robot", text)
    program = """
import sys
from goalsets.runs.run import Run, RunError
try:
    Run.open("run")
except RunError as error:
    print("my_robot" in str(error), "my_robot" in sys.modules)
"""
    done = run_python("-c", program, cwd=place, path=place / "site")
    assert done.stdout.strip() == "True False", done.stderr
    assert not (place / "imported").exists()
    done = run_python("-c", program, cwd=place, path=place / "site", plugins="my_robot")
    assert done.stdout == "", done.stderr  # it opened
    assert (place / "imported").exists()


@pytest.mark.full
def test_the_playground_knows_it(place: Path) -> None:
    words = ("play", str(place / "run"), "--plugin", str(place / "robots" / "my_robot.py"))
    says, one = r"open (\S+) in a browser", {"OMP_NUM_THREADS": "1"}
    with (
        started(*words, says=says, stop=signal.SIGINT, variables=one) as server,
        urllib.request.urlopen(server.url) as answer,
    ):
        assert answer.status == 200
