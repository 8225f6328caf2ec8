"""The Ray engine on real clusters of several nodes, all on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goalsets.core.plugins import VARIABLE
from goalsets.data.store import Store
from goalsets.runs.weights import CHECKPOINT
from goalsets.sweep import survey
from goalsets.sweep.collect import SCRATCH
from goalsets.sweep.drive import run_sweep
from goalsets.sweep.files import write_sweep
from goalsets.sweep.ray import OBJECT_STORE, RayEngine
from goalsets.sweep.state import read_status
from goalsets.sweep.survey import RUNS
from goalsets.train.session import Pace
from tests.plugin_files import goalsets, write
from tests.sweep import noop
from tests.sweep.conftest import TASK, small
from tests.sweep.driving import (
    assert_same_runs,
    start_driver,
    train_apart,
    wait_for,
    where,
    worked,
)

NODE = {"object_store_memory": OBJECT_STORE, "node_ip_address": "127.0.0.1"}

# One cluster at a time on a machine.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="module")
def cluster(data_home: Path, scratch: Path) -> Iterator[Any]:
    """A head that runs nothing, and two nodes with one processor and one accelerator each.

    Nobody looks whether the accelerators are there: they are resources that Ray counts.
    """
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SCRATCH, str(scratch))
        # Nodes import tests.sweep.
        paths = filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")])
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        head = {"num_cpus": 0, "include_dashboard": False, **NODE}
        made = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(2):
            made.add_node(num_cpus=1, num_gpus=1, **NODE)
        ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
        try:
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


@pytest.mark.full
def test_failures_stay_with_their_run(cluster: Any, tmp_path: Path) -> None:
    sweep = small(seeds=(0, 1, 2, 3))
    summary = run_sweep(sweep, tmp_path / "sweep", RayEngine(do=noop.mixed))
    assert summary.outcomes == {"done": 2, "failed": 2}
    assert worked(tmp_path / "sweep", sweep) == [1, 1, 3, 2]
    failed = {e.job.config.seed: e.status for e in survey(tmp_path / "sweep").of("failed")}
    assert failed[1].reason == "it diverged."
    assert "its worker died 3 times" in failed[2].reason


@pytest.mark.full
def test_runs_are_collected_where_nothing_is_shared(
    cluster: Any, tmp_path: Path, scratch: Path
) -> None:
    sweep = small(seeds=(0, 1, 2))
    place = tmp_path / "sweep"
    engine = RayEngine(storage="collect", do=noop.with_data)
    assert run_sweep(sweep, place, engine).complete
    assert worked(place, sweep) == [1, 1, 1]
    # The data came once to each node that worked, and went to no other place.
    nodes = {path.name for path in scratch.iterdir()}
    copies = list(scratch.glob("*/data/*/store.json"))
    assert len(copies) == len(nodes) <= 2
    original = Store.open(Path(os.environ["GOALSETS_DATA"]) / TASK).fingerprint
    assert all(Store.open(copy.parent).fingerprint == original for copy in copies)
    assert not list(scratch.glob("*/runs/*/*"))


@pytest.mark.full
def test_each_run_has_an_accelerator(cluster: Any, tmp_path: Path) -> None:
    sweep = small(seeds=(0, 1, 2))
    engine = RayEngine(device="cuda", do=noop.where)
    assert engine.slots == 2
    assert run_sweep(sweep, tmp_path, engine).complete
    assert where(tmp_path, sweep) == ["cuda 0"] * 3  # the only one of its node
    processors = RayEngine(do=noop.where)
    again = small(seeds=(3,))
    assert run_sweep(again, tmp_path, processors).complete
    assert where(tmp_path, again) == ["cpu "]


@pytest.mark.full
def test_nodes_know_our_plugins(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were started without the variable; the file is where they see it, too."""
    monkeypatch.setenv(VARIABLE, str(write(tmp_path, "my_robot")))
    sweep = small(seeds=(0,))
    assert run_sweep(sweep, tmp_path / "sweep", RayEngine(do=noop.schemes)).complete
    assert where(tmp_path / "sweep", sweep) == ["my_robot"]


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["auto", "collect"])
def test_a_worker_and_a_node_that_die_change_nothing(
    cluster: Any, tmp_path: Path, data_home: Path, storage: Any
) -> None:
    while len(cluster.worker_nodes) < 2:  # this test uses them up
        cluster.add_node(num_cpus=1, num_gpus=1, **NODE)
    overrides = {"steps": 1_000, "batch_size": 32, "hidden": 32}
    sweep = small(seeds=(0, 1, 2), overrides=(overrides,), pace=Pace(50, 25))
    reference, place = tmp_path / "undisturbed", tmp_path / "sweep"
    train_apart(sweep, reference, data_home)
    first, second = (place / RUNS / job.name for job in sweep.jobs()[:2])

    def disturb() -> None:
        wait_for((first / CHECKPOINT).exists, 120)
        os.kill(read_status(first).pid, signal.SIGKILL)
        wait_for((second / CHECKPOINT).exists, 120)
        victim = node_of(cluster, read_status(second).pid)
        cluster.remove_node(victim, allow_graceful=False)

    thread = threading.Thread(target=disturb)
    thread.start()
    summary = run_sweep(sweep, place, RayEngine(storage=storage))
    thread.join()
    assert summary.outcomes == {"done": 3}
    attempts = [entry.status.attempts for entry in survey(place).entries]
    assert sum(attempts) >= 5  # two of them were taken up again
    assert_same_runs(reference, place, sweep)


def node_of(cluster: Any, pid: int) -> Any:
    """The node whose raylet is the parent of a worker."""
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    for node in cluster.worker_nodes:
        for processes in node.all_processes.values():
            if any(info.process.pid == parent for info in processes):
                return node
    raise AssertionError(f"no node has the process {pid}")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("whose", ["existing", "own"])
def test_killing_the_driver_loses_and_repeats_nothing(
    cluster: Any, tmp_path: Path, data_home: Path, whose: str
) -> None:
    """`kill -9` of a driver whose cluster goes on without it, and of one whose cluster ends too."""
    while len(cluster.worker_nodes) < 2:
        cluster.add_node(num_cpus=1, num_gpus=1, **NODE)
    overrides = {"steps": 1_000, "batch_size": 32, "hidden": 32}
    sweep = small(seeds=(0, 1, 2, 3, 4), overrides=(overrides,), pace=Pace(50, 25))
    reference, place = tmp_path / "undisturbed", tmp_path / "sweep"
    train_apart(sweep, reference, data_home)
    words = ("--engine", "ray", *(("--address", cluster.address) if whose == "existing" else ()))
    driver = start_driver(sweep, place, *words)
    wait_for(lambda: place.exists() and survey(place, sweep).counts["done"] >= 1, 480)
    driver.kill()
    driver.communicate()
    done = {e.job.name: e.status for e in survey(place, sweep).of("done")}
    assert 1 <= len(done) < 5, "it was killed too late to show anything"
    again = start_driver(sweep, place, *words)
    _, err = again.communicate(timeout=600)
    assert again.returncode == 0, err
    assert "of 5 runs are done already" in err
    for entry in survey(place).entries:
        assert entry.standing == "done"
        if entry.job.name in done:  # not touched again
            assert entry.status == done[entry.job.name]
    assert_same_runs(reference, place, sweep)


@pytest.mark.slow
def test_stop_leaves_checkpoints(cluster: Any, tmp_path: Path) -> None:
    overrides = {"steps": 100_000, "batch_size": 32, "hidden": 32}
    sweep = small(seeds=(0, 1, 2), overrides=(overrides,), pace=Pace(50, 200_000))
    engine = RayEngine()
    first = tmp_path / RUNS / sweep.jobs()[0].name

    def stop() -> None:
        wait_for((first / "metrics.csv").exists, 120)
        time.sleep(1)
        engine.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    summary = run_sweep(sweep, tmp_path, engine)
    thread.join()
    assert summary.outcomes == {"stopped": 3}
    assert (first / CHECKPOINT).exists()
    assert survey(tmp_path).counts == {"waiting": 3}


@pytest.mark.slow
def test_a_cluster_of_ones_own(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    write_sweep(small(seeds=(0,)), tmp_path / "small.yaml")
    words = ["sweep", str(tmp_path / "small.yaml"), "-o", str(tmp_path / "sweep")]
    done = subprocess.run(
        [sys.executable, "-m", "goalsets", *words, "--engine", "ray"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "[1/1] done" in done.stderr
    assert survey(tmp_path / "sweep").counts == {"done": 1}


@pytest.mark.slow
def test_a_plugin_in_the_current_directory(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    write(tmp_path, "my_robot")
    write_sweep(small(seeds=(0,)), tmp_path / "small.yaml")
    text = (tmp_path / "small.yaml").read_text().replace("gs-blockwise", "gs-mine")
    (tmp_path / "small.yaml").write_text(text)
    words = ("sweep", "small.yaml", "-o", "sweep", "--engine", "ray", "--plugin", "my_robot")
    done = goalsets(*words, cwd=tmp_path)
    assert "[1/1] done" in done.stderr, done.stderr
    assert len(list((tmp_path / "sweep").glob("runs/*/gcbc-gs-mine-*/config.json"))) == 1
