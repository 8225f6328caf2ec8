"""CONTRIBUTING, followed to the letter by a stranger: every template, through every command.

The commands, the sweep, the tests and the entry point are those of the page; only what makes them
short is added. Each runs in a process of its own, in a directory outside the repository.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import signal
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goalsets.envs.tasks import TASKS
from tests.docs.test_code import ROOT, Block, blocks
from tests.evaluate.conftest import TASK, make_store
from tests.plugin_files import goalsets, install, run_python
from tests.processes import started

PAGE = [block for block in blocks(ROOT / "CONTRIBUTING.md") if block.skipped]
TEMPLATES = sorted((ROOT / "examples" / "templates").glob("*.py"))
SHORT = {
    "train": "--steps 20 --batch-size 32 --hidden 32 --threads 1 --evaluate never",
    "eval": "--episodes 1",
    "ask": "--no-video",
}
SHORT_SWEEP = """
overrides: [{steps: 20, batch_size: 32, hidden: 32}]
evaluation: {episodes: 1}
"""

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]


def of_kind(kind: str) -> list[Block]:
    return [block for block in PAGE if block.kind == kind]


def template(block: Block) -> str:
    """The template that a chapter of commands begins with."""
    found = re.match(r"\$ cp examples/templates/(\w+)\.py my_\1\.py\n", block.body)
    assert found is not None, block.body
    return found[1]


CHAPTERS = {template(block): block.body for block in of_kind("console")}


def test_the_page_names_every_template() -> None:
    assert sorted(CHAPTERS) == [path.stem for path in TEMPLATES]
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in TEMPLATES:
        assert f"(examples/templates/{path.name})" in text
        assert "Yours:" in path.read_text(encoding="utf-8")


# --- A stranger's directory -----------------------------------------------------------------------


def digests() -> dict[str, str]:
    """Every file of the package as it is."""
    files = [p for p in (ROOT / "src").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    return {str(p.relative_to(ROOT)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module", autouse=True)
def _package_stays_as_it_is() -> Iterator[None]:
    before = digests()
    yield
    assert digests() == before, "an extension needed an edit of the package"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's directory, with data of the tabletop and some logs."""
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    make_store(tmp_path / "data" / TASK)
    (tmp_path / "mine.yaml").write_text(of_kind("yaml")[0].body + SHORT_SWEEP)
    write_logs(tmp_path / "logs")
    return tmp_path


def write_logs(path: Path) -> None:
    """Logs as the template of a source describes them, of different lengths."""
    path.mkdir()
    for number in range(12):
        steps = [
            {"state": {"x": 0.1 * step, "y": number / 12}, "action": [0.1, (step % 3 - 1) / 10]}
            for step in range(20 + number)
        ]
        lines = [json.dumps(step) for step in steps]
        (path / f"log_{number}.jsonl").write_text("\n".join(lines) + "\n")


def follow(chapter: str, place: Path, each: Callable[[str], None] = lambda _: None) -> None:
    """Run the commands of a chapter; `each` is told what they print."""
    for line in chapter.splitlines():
        program, *words = shlex.split(line.removeprefix("$ "))
        if program == "cp":
            shutil.copy(ROOT / words[0], place / words[1])
        elif words[0] == "serve":
            serve(*words)
        else:
            if program == "python":
                done = run_python(*words, cwd=place)
            else:
                assert program == "goalsets", line
                done = goalsets(*words, *SHORT.get(words[0], "").split(), cwd=place)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            assert "Traceback" not in done.stderr, f"{line}\n{done.stderr}"
            each(done.stdout)


def serve(*words: str) -> None:
    """Start the server, and ask it something."""
    zeros = [0.0] * TASKS[TASK].layout.dim
    question = json.dumps({"observation": zeros, "goal": zeros, "query": "task"}).encode()
    started_with = {"says": r"serving on (\S+);", "stop": signal.SIGTERM, "variables": {}}
    with started(*words, **started_with) as server:
        request = urllib.request.Request(
            f"{server.url}/v1/act", question, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            told = json.load(answer)
    assert len(told["action"]) == 5


def plugins_of(run: Path) -> list[str]:
    return json.loads((run / "config.json").read_text())["plugins"]


# --- The four kinds -------------------------------------------------------------------------------


def test_learner(place: Path) -> None:
    printed: list[str] = []
    follow(CHAPTERS["learner"], place, printed.append)
    assert plugins_of(place / "runs" / "huber") == ["my_learner"]
    trained, evaluated, asked, exported, unit = printed
    assert "trained huber with gs-blockwise" in trained
    assert "5 episodes" in evaluated
    assert re.search(r"predicted  \S+ steps", asked), asked
    assert "exported huber of step 20" in exported
    assert unit == "steps\n"


def test_queries(place: Path) -> None:
    printed: list[str] = []
    follow(CHAPTERS["queries"], place, printed.append)
    assert plugins_of(place / "runs" / "one-group") == ["my_queries"]
    assert "5 episodes" in printed[1]
    (config,) = place.glob("sweeps/mine/runs/*/*/config.json")
    assert plugins_of(config.parent) == ["my_queries"]
    assert (config.parent / "evaluations.jsonl").exists()
    status = goalsets("sweep", "status", "sweeps/mine", "--plugin", "my_queries.py", cwd=place)
    assert status.returncode == 0, status.stderr


def test_task(place: Path) -> None:
    printed: list[str] = []
    follow(CHAPTERS["task"], place, printed.append)
    fits, _, evaluated, asked = printed
    assert "steer-v0 fits" in fits
    assert plugins_of(place / "runs" / "steer") == ["my_task"]
    assert "2 episodes" in evaluated
    assert "the official goal of task 2" in asked


def test_source(place: Path) -> None:
    printed: list[str] = []
    follow(CHAPTERS["source"], place, printed.append)
    assert "11 episodes to train on" in printed[0]
    assert (place / "runs" / "logs" / "config.json").exists()


def test_the_tests_of_the_page_pass(place: Path) -> None:
    for path in TEMPLATES:
        shutil.copy(path, place / f"my_{path.name}")
    (place / "test_mine.py").write_text(of_kind("python")[0].body)
    done = run_python("-m", "pytest", "-q", "test_mine.py", cwd=place)
    assert f"{len(TEMPLATES)} passed" in done.stdout, done.stdout + done.stderr


def test_all_of_them_as_an_installed_package(place: Path) -> None:
    """Nothing is named on a command line, and worker processes know it all the same."""
    (declared,) = of_kind("toml")
    _, package, entry = re.findall(r'"?([\w.]+)"?', declared.body.partition('"')[2])
    assert declared.body.startswith('[project.entry-points."goalsets.plugins"]\n')
    site = place / "site"
    install(site, package, entry)
    (site / package).mkdir()
    for path in TEMPLATES:
        shutil.copy(path, site / package)
    imported = ", ".join(path.stem for path in TEMPLATES)
    (site / package / "__init__.py").write_text(f"from {package} import {imported}\n")
    for line in (
        "train steer-v0 --learner huber --scheme gs-one-group --output runs/all",
        "eval runs/all --workers 2",
        "data import jsonl logs",
    ):
        words = shlex.split(line)
        done = goalsets(*words, *SHORT.get(words[0], "").split(), cwd=place, path=site)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert plugins_of(place / "runs" / "all") == [package]


# --- Inside the package, and for long -------------------------------------------------------------

ROOMS = {
    "learner": "learners",
    "queries": "relabel/queries",
    "task": "envs/tasks",
    "source": "data/sources",
}


def test_inside_the_package_a_file_is_enough(place: Path) -> None:
    """Each template as a file of a copy of the package: it is known because it is there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    copy = place / "copy" / "goalsets"
    shutil.copytree(ROOT / "src" / "goalsets", copy, ignore=shutil.ignore_patterns("__pycache__"))
    for path in TEMPLATES:
        assert f"`{ROOMS[path.stem]}/x.py`" in text
        shutil.copy(path, copy / ROOMS[path.stem] / f"my_{path.name}")
    for line in (
        "train steer-v0 --learner huber --scheme gs-one-group --output runs/all",
        "data import jsonl logs",
    ):
        words = shlex.split(line)
        done = goalsets(*words, *SHORT.get(words[0], "").split(), cwd=place, path=copy.parent)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
    assert "plugins" not in json.loads((place / "runs" / "all" / "config.json").read_text())


LEARNS = """
import goalsets
from tests.tabletop import official, predicate, train

for plugin in ("my_learner.py", "my_queries.py"):
    goalsets.load_plugin(plugin)
policy = train("huber", "gs-one-group").policy
print(official(policy), predicate(policy, "ee_pos"))
"""


@pytest.mark.slow
def test_the_templates_learn(place: Path) -> None:
    for path in TEMPLATES:
        shutil.copy(path, place / f"my_{path.name}")
    done = run_python("-c", LEARNS, cwd=place, path=ROOT)
    assert [float(word) >= 0.9 for word in done.stdout.split()] == [True, True], done
    for line in ("train steer-v0 --output runs/steer --evaluate never", "eval runs/steer"):
        done = goalsets(*line.split(), "--plugin", "my_task.py", cwd=place)
        assert done.returncode == 0, done.stderr
    assert int(re.search(r"success (\d+) %", done.stdout)[1]) >= 90, done.stdout
