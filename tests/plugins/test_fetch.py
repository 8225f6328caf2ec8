"""A stranger's robot, from one file through every command: `examples/plugins/fetch.py`.

Each command runs in a process of its own, as somebody types it; the package is not edited.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalsets.data.store import Store
from goalsets.runs.run import Run, RunError
from goalsets.serve.client import Client
from tests.play.browser import CHROMIUM, FLAGS, Tab, needs_browser, playground
from tests.plugin_files import goalsets, run_python
from tests.processes import started

pytest.importorskip("gymnasium_robotics")
pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
PLUGIN = ("--plugin", str(EXAMPLES / "fetch.py"))
TASK = "fetch-pick-v0"
TINY = ("--steps", "60", "--batch-size", "128", "--hidden", "64", "--threads", "1")


def call(*words: str, cwd: Path) -> str:
    done = goalsets(*words, *PLUGIN, cwd=cwd)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A stranger's directory with a run; training has made its data."""
    path = tmp_path_factory.mktemp("fetch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GOALSETS_DATA", str(path / "data"))
        patch.setenv("FETCH_EPISODES", "60")
        patch.setenv("OMP_NUM_THREADS", "1")
        words = ("train", TASK, "--scheme", "gs-semantic", "--output", "run", *TINY)
        call(*words, "--evaluate", "never", cwd=path)
        yield path


@pytest.fixture(scope="module")
def store(place: Path) -> Store:
    return Store.open(place / "data" / TASK)


def records(place: Path, kind: str) -> list[dict[str, Any]]:
    lines = (place / "run" / "evaluations.jsonl").read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


def test_it_fits_and_says_what_it_is(place: Path) -> None:
    shown = call("tasks", "show", TASK, cwd=place)
    assert "far on the table" in shown
    assert re.search(r"object_pos +\[3:6\] +euclidean +m +0\.05", shown)
    assert "Relative: object_pos to gripper_pos." in shown
    checked = call("tasks", "check", TASK, cwd=place)
    assert "fetch-pick-v0 fits: nothing is missing, and nothing is wrong." in checked


def test_training_makes_data_in_which_the_block_is_lifted(place: Path, store: Store) -> None:
    assert (store.train.num_episodes, store.validation.num_episodes) == (60, 6)
    episodes = list(store.train)
    heights = [episode.observations[:, 5].max() for episode in episodes]
    assert sum(height > 0.5 for height in heights) >= 6
    held = [np.linalg.norm(episode.observations[:, 6:9], axis=1).min() for episode in episodes]
    assert sum(near < 0.02 for near in held) >= 30
    assert all(np.abs(episode.actions).max() <= 1 for episode in episodes)
    plain = json.loads((place / "run" / "config.json").read_text())
    assert plain["plugins"] == ["fetch"]


def test_two_workers_try_every_official_goal(place: Path) -> None:
    told = call("eval", "run", "--episodes", "1", "--workers", "2", cwd=place)
    assert re.search(r"run, step 60: success \d+ % \[\d+, \d+\], 5 episodes", told)
    (record,) = records(place, "official")
    episodes = record["episodes"]
    assert [episode["task_id"] for episode in episodes] == [1, 2, 3, 4, 5]
    assert all(e["success"] or e["steps"] == 50 for e in episodes)


def test_any_question_is_asked_with_and_without_a_film(place: Path) -> None:
    told = call("ask", "run", "--query", "held", "-o", "filmed", cwd=place)
    assert "question   object_rel & fingers" in told
    assert re.search(r"support +training: [1-9][\d,]* of 3,060 states", told)
    assert (place / "filmed" / "film.mp4").stat().st_size > 1_000, told
    words = ("ask", "run", "--query", "gripper_pos:2cm", "--goal", "bank:30", "--no-video")
    told = call(*words, "-o", "unfilmed", cwd=place)
    answer = json.loads((place / "unfilmed" / "answer.json").read_text())
    assert (answer["query"], answer["success"]) == ("gripper_pos:0.02", False)
    assert not (place / "unfilmed" / "film.mp4").exists()


def test_a_suite_of_its_own_is_built_and_run(place: Path) -> None:
    words = ("--description", str(EXAMPLES / "fetch.yaml"), "--episodes", "1", "-o", "fetch.json")
    built = call("suite", "build", TASK, *words, cwd=place)
    assert "fetch: 25 episodes of fetch-pick-v0" in built
    lifted = re.search(r"lifted +5 +object_pos\.z +(\S+)", built)
    assert lifted is not None, built
    assert float(lifted[1]) >= 0.5
    only = ("--only", "lifted", "reached")
    told = call("suite", "run", "run", "--suite", "fetch.json", *only, cwd=place)
    assert re.search(r"lifted +\d+ % \[\d+, \d+\] +object_pos", told), told
    (record,) = records(place, "suite")
    asked = {name: found["query"] for name, found in record["by_predicate"].items()}
    assert asked == {"lifted": "object_pos", "reached": "gripper_pos"}


RUNTIME = """
import sys
sys.modules["torch"] = None  # an import would fail
import numpy as np
import goalsets.runtime
policy = goalsets.runtime.load("policy.onnx")
states = np.load("states.npy")
np.save("acted.npy", policy.act(states[:-1], states[-1], "object_pos & fingers"))
print(policy.card["task"], "gymnasium_robotics" in sys.modules, "goalsets.envs" in sys.modules)
"""


def test_it_acts_without_torch_and_over_the_network_as_here(place: Path, store: Store) -> None:
    """The file and the server know the layout; only the server needs the plugin."""
    states = next(iter(store.validation)).observations
    np.save(place / "states.npy", states)
    call("export", "run", "--to", "onnx", "-o", "policy.onnx", cwd=place)
    done = run_python("-c", RUNTIME, cwd=place)
    assert done.stdout.split() == [TASK, "False", "False"], done.stderr
    acted = np.load(place / "acted.npy")
    assert acted.shape == (50, 4)
    assert np.abs(acted).max() <= 1
    assert len(np.unique(acted, axis=0)) == 50
    one = {"OMP_NUM_THREADS": "1"}
    words = ("serve", f"arm={place / 'run'}", *PLUGIN)
    with started(*words, says=r"serving on (\S+);", stop=signal.SIGTERM, variables=one) as server:
        with contextlib.closing(Client(server.url)) as client:
            assert client.model()["questions"]["held"] == "object_rel & fingers"
            served = client.act(states[:-1], states[-1], "object_pos & fingers")
            np.testing.assert_allclose(served, acted, atol=1e-5)
            lifted = {"object_pos": [1.3, 0.75, 0.6]}
            (term,) = client.check(states[0], lifted, "object_pos:10cm").terms
            assert term["distance_in_unit"] > 0.1


def test_a_report_knows_it(place: Path) -> None:
    told = call("report", "run", "-o", "page", cwd=place)
    assert "1 run of 1 learner on 1 task" in told
    assert "fetch-pick-v0" in (place / "page" / "report.html").read_text()


@pytest.mark.slow
def test_a_sweep_knows_it(place: Path) -> None:
    (place / "mine.yaml").write_text(
        f"tasks: {TASK}\nschemes: gs-semantic\npreset: cpu\n"
        "overrides: {steps: 20, batch_size: 64, hidden: 32}\n"
        "evaluation: {episodes: 1}\n"
    )
    done = goalsets("sweep", "mine.yaml", "-o", "sweep", *PLUGIN, cwd=place)
    assert "[1/1] done" in done.stderr, done.stderr
    (lines,) = (place / "sweep").glob("runs/*/*/evaluations.jsonl")
    (record,) = map(json.loads, lines.read_text().splitlines())
    assert (record["kind"], len(record["episodes"])) == ("official", 5)


def test_without_the_plugin_the_run_says_what_it_needs(place: Path) -> None:
    done = goalsets("ask", "run", cwd=place)
    assert done.returncode == 2
    assert "it needs the plugin 'fetch', not loaded here: add --plugin fetch" in done.stderr
    with pytest.raises(RunError, match="needs the plugin 'fetch'"):
        Run.open(place / "run")


def test_the_playground_opens(place: Path) -> None:
    words = (str(place / "run"), *PLUGIN)
    with playground(*words) as url, urllib.request.urlopen(url) as answer:
        assert answer.status == 200


@needs_browser
@pytest.mark.slow
def test_it_is_played_with_in_a_browser(place: Path) -> None:
    """The block can be dragged, and what is seen from the gripper follows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver, playground(str(place / "run"), *PLUGIN) as url:
        tab = Tab(driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS), url).ready()
        tab.shows(20)
        tab.page.get_by_text("Where it starts, when it stops").click()
        tab.page.locator("label", has_text="Stop when reached").click()
        tab.button("Play").click()
        tab.sees(re.compile(r"step [1-9]\d* · "))
        tab.button("Pause").click()
        tab.is_content()
        tab.page.screenshot(path=place / "page.png")
        tab.page.context.browser.close()


@pytest.mark.slow
def test_it_learns_to_place_the_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the data and of the training that docs/your-own-task.md reports."""
    monkeypatch.setenv("GOALSETS_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FETCH_EPISODES", "200")
    words = ("--scheme", "gs-semantic", "--steps", "1300", "--threads", "1", "--output", "run")
    call("train", TASK, *words, "--evaluate", "never", cwd=tmp_path)
    call("eval", "run", "--episodes", "5", cwd=tmp_path)
    (record,) = records(tmp_path, "official")
    assert record["success"] >= 0.6
