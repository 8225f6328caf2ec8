"""The trials: what is done to each command, and what must hold afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from chaos_world import (
    COLLECTED,
    TASK,
    BrokenError,
    World,
    commands,
    hold,
    same_bytes,
    same_files,
    same_run,
)

from goalsets.data.store import Store
from goalsets.runs.run import read_evaluations
from goalsets.serve.client import Client
from goalsets.sweep.state import STATUS

SWEEP_FILES = ("run.log", "status.json", "tensorboard")


def train(world: World) -> None:
    """Kill a training up to three times, and finish it."""
    words = commands(world.place, world.reference)["train"]
    for _ in range(world.rng.randint(1, 3)):
        world.strike(world.start(*words), "killed")
    world.succeed(*words)
    same_run(world.place / "run", world.reference / "trained")


def train_on_a_full_disk(world: World) -> None:
    """Train where there is no room at some moment, make room, and finish."""
    need = sum(p.stat().st_size for p in (world.reference / "trained").rglob("*") if p.is_file())
    size = max(1 << 14, int(need * world.rng.uniform(0.05, 1.5)) // 4096 * 4096)
    with world.disk(size) as disk:
        words = commands(disk.path, world.reference)["train"]
        limit = None if disk.mounted else size // 8
        ended = world.run(*words, most_bytes=limit)
        if ended.code != 0:
            hold(ended.explained(), f"a full disk ends in: {ended.errors[-1500:]}")
        world.counts["full disk" if ended.code else "disk was large enough"] += 1
        disk.grow(64 << 20)
        world.succeed(*words)
        same_run(disk.path / "run", world.reference / "trained")


def train_in_a_read_only_place(world: World) -> None:
    """Train where nothing can be written, then where it can."""
    with world.disk(64 << 20) as disk:
        words = commands(disk.path, world.reference)["train"]
        if world.rng.random() < 0.5:
            world.strike(world.start(*words), "killed")
        disk.freeze(read_only=True)
        if os.access(disk.path, os.W_OK):  # root writes wherever there is no mount
            world.counts["read-only is not possible here"] += 1
        else:
            ended = world.run(*words)
            hold(ended.explained(), f"a read-only place ends in: {ended.errors[-1500:]}")
            world.counts["read-only place"] += 1
        disk.freeze(read_only=False)
        world.succeed(*words)
        same_run(disk.path / "run", world.reference / "trained")


def train_on_changed_data(world: World) -> None:
    """Kill a training, change or delete its data, and see that it does not go on with that."""
    data = world.place / "data"
    shutil.copytree(world.reference / "data", data)
    words = commands(world.place, world.reference)["train"]
    world.strike(world.start(*words, data=data), "killed")
    begun = (world.place / "run" / "checkpoint.safetensors").exists()
    files = [p for p in (data / TASK).rglob("*.npy") if p.stat().st_size > 4096]
    victim = world.rng.choice(sorted(files))
    if world.rng.random() < 0.3:
        victim.unlink()
        world.counts["data deleted"] += 1
    else:
        raw = bytearray(victim.read_bytes())
        raw[world.rng.randrange(4096, len(raw))] ^= 1 << world.rng.randrange(8)
        victim.write_bytes(raw)
        world.counts["data changed"] += 1
    ended = world.run(*words, data=data)
    if begun or ended.code != 0:
        hold(ended.explained(), f"other data ends in {ended.code}: {ended.errors[-1500:]}")
    shutil.rmtree(data)
    shutil.copytree(world.reference / "data", data)
    world.succeed(*words, data=data)
    same_run(world.place / "run", world.reference / "trained")


def two_at_once(world: World) -> None:
    """Start a command twice: one is told who has it, and the result is the same."""
    name = world.rng.choice(["train", "import", "collect", "sweep"])
    words = commands(world.place, world.reference)[name]
    both = [world.start(*words), world.start(*words)]
    ended = [world.finish(process) for process in both]
    told = [e for e in ended if e.code != 0]
    hold(len(told) < 2, f"both failed: {[e.errors[-500:] for e in ended]}")
    for each in told:
        hold("in use by process" in each.errors, f"the second is told: {each.errors[-1500:]}")
    world.counts["second writer refused" if told else "second writer came later"] += 1
    _check(world, name)


def _check(world: World, name: str) -> None:
    """What a command has written is what it writes undisturbed."""
    if name == "train":
        same_run(world.place / "run", world.reference / "trained")
    elif name == "import":
        _same_store(world)
    elif name == "collect":
        _same_collection(world)
    else:
        _same_sweep(world)


def import_(world: World) -> None:
    """Kill an import; what is there is the old store or the new one, whole."""
    words = commands(world.place, world.reference)["import"]
    store = world.place / "store"
    if world.rng.random() < 0.5:
        world.succeed(*words)
    for _ in range(world.rng.randint(1, 3)):
        world.strike(world.start(*words), "killed")
        if (store / "store.json").exists():
            Store.open(store).verify()
    world.succeed(*words)
    _same_store(world)


def _same_store(world: World) -> None:
    ours, theirs = (Store.open(place / "store") for place in (world.place, world.reference))
    hold(ours.fingerprint == theirs.fingerprint, "the store has another fingerprint")
    ours.verify()
    names = [{p.name for p in s.path.iterdir() if p.is_file()} for s in (ours, theirs)]
    hold(names[0] == names[1], f"files of the store: {names[0] ^ names[1]}")
    hold(len(list(ours.path.glob("data-*"))) == 1, "data of a killed import is left")


def _disturb(world: World, words: Sequence[str | Path]) -> None:
    """Start a command and strike it; wait for it to end where that did not end it."""
    process = world.start(*words)
    world.strike(process)
    if process.poll() is None:
        world.finish(process)


def collect(world: World) -> None:
    """Kill a collection, or its workers, and finish it."""
    words = commands(world.place, world.reference)["collect"]
    for _ in range(world.rng.randint(1, 2)):
        _disturb(world, words)
    world.succeed(*words)
    _same_collection(world)


def _same_collection(world: World) -> None:
    ours, theirs = world.place / "collected", world.reference / "collected"
    same_files(ours, theirs)
    for name in (f"{COLLECTED}.npz", f"{COLLECTED}-val.npz"):
        same_bytes(ours / name, theirs / name)


def suite(world: World) -> None:
    """Kill a suite, or its workers, and finish it."""
    shutil.copytree(world.reference / "trained", world.place / "run")
    words = commands(world.place, world.reference)["suite"]
    for _ in range(world.rng.randint(1, 2)):
        _disturb(world, words)
    world.succeed(*words)
    world.succeed(*words)  # nothing is left to run, and nothing is recorded twice
    records, damaged = read_evaluations(world.place / "run")
    hold(not damaged, f"damaged lines {damaged}")
    theirs, _ = read_evaluations(world.reference / "run")
    ours, wanted = (_episodes(found) for found in (records, theirs))
    hold(ours == wanted, "the suite has other results")


def _episodes(records: list[dict[str, object]]) -> object:
    """The newest record of a suite without what is of its moment."""
    *_, last = [record for record in records if record["kind"] == "suite"]
    passing = ("seconds", "time", "when", "date", "created", "machine", "host")
    return json.loads(
        json.dumps({k: v for k, v in last.items() if not any(p in k for p in passing)})
    )


def report(world: World) -> None:
    """Kill a report, and write it again."""
    shutil.copytree(world.reference / "run", world.place / "run")
    words = commands(world.place, world.reference)["report"]
    world.strike(world.start(*words), "killed")
    world.succeed(*words)
    same_files(world.place / "report", world.reference / "report")
    for path in (world.reference / "report").rglob("*.csv"):
        ours = world.place / "report" / path.relative_to(world.reference / "report")
        text = ours.read_text().replace(str(world.place), str(world.reference))
        hold(text == path.read_text(), f"{ours} and {path} differ")


def sweep(world: World) -> None:
    """Kill drivers and workers of a sweep, and put its clocks wrong."""
    words = commands(world.place, world.reference)["sweep"]
    for _ in range(world.rng.randint(1, 3)):
        _disturb(world, words)
        if world.rng.random() < 0.5:
            _skew(world)
    world.succeed(*words)
    _same_sweep(world)


def _skew(world: World) -> None:
    """Signs of life, and times of change, of days ago or days ahead."""
    world.counts["clock skewed"] += 1
    off = world.rng.choice([-1, 1]) * world.rng.uniform(60, 10 * 86400)
    for path in (world.place / "sweep").rglob("*"):
        with contextlib.suppress(OSError, ValueError):
            if path.name == STATUS:
                status = json.loads(path.read_text())
                path.write_text(json.dumps({**status, "updated": status["updated"] + off}))
            os.utime(path, (time.time() + off, time.time() + off))


def _same_sweep(world: World) -> None:
    ours, theirs = world.place / "sweep" / "runs", world.reference / "sweep" / "runs"
    names = [
        sorted(p.parent.relative_to(place).as_posix() for p in place.rglob(STATUS))
        for place in (ours, theirs)
    ]
    hold(names[0] == names[1], f"runs lost or repeated: {names}")
    for name in names[0]:
        same_run(ours / name, theirs / name, SWEEP_FILES)
        status = json.loads((ours / name / STATUS).read_text())
        hold(status["state"] == "done", f"{name} stands as {status['state']}")


def sweep_on_ray(world: World) -> None:
    """Kill a worker or a node of a Ray cluster on 127.0.0.1, under a sweep."""
    # Ray hears these when it is imported: only this machine, and patience with a busy one.
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    os.environ["RAY_raylet_start_wait_time_s"] = "300"  # noqa: SIM112 - its name
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 << 20, "node_ip_address": "127.0.0.1"}
    try:
        head = {**node, "num_cpus": 0, "include_dashboard": False}
        cluster = Cluster(initialize_head=True, head_node_args=head)
    except Exception:  # Ray's own word for a machine that is too busy
        world.counts["Ray did not start in time"] += 1
        return
    try:
        nodes = [cluster.add_node(**node), cluster.add_node(**node)]
        plain = commands(world.place, world.reference)["sweep"][:4]
        words = [*plain, "--engine", "ray", "--address", cluster.address]
        process = world.start(*words)
        # Ray takes an unknown time to start, so wait until there is something to disturb.
        if _working(world, process, seconds=240) is None:
            world.counts["had ended before the kill"] += 1
        time.sleep(world.rng.uniform(0, 0.5) * world.took(process))
        if world.rng.random() < 0.5:
            cluster.remove_node(nodes[0], allow_graceful=False)
            cluster.add_node(**node)
            world.counts["Ray node killed"] += 1
        else:
            world.counts["Ray worker killed"] += _kill_ray_worker(world)
        ended = world.finish(process)
        hold(ended.code in (0, 1, 130), f"the driver ended with {ended.code}: {ended.errors}")
        world.succeed(*words, "--retry-failed")
    finally:
        cluster.shutdown()
    _same_sweep(world)


def _kill_ray_worker(world: World) -> int:
    """Kill one that works on a run, if there is one."""
    worker = _at_work(world)
    if worker is None:
        return 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker, signal.SIGKILL)
        return 1
    return 0


def _working(world: World, driver: subprocess.Popen[str], seconds: float) -> int | None:
    """Wait until a run of the sweep is worked on; return the process that does it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and driver.poll() is None:
        if (worker := _at_work(world)) is not None:
            return worker
        time.sleep(0.05)
    return None


def _at_work(world: World) -> int | None:
    """The process that works on a run, as the status of the run says."""
    for path in sorted((world.place / "sweep").rglob(STATUS)):
        with contextlib.suppress(OSError, ValueError, KeyError):
            status = json.loads(path.read_text())
            if status["state"] == "running":
                return int(status["pid"])
    return None


def serve(world: World) -> None:
    """Clients that are killed or hostile, then SIGTERM or a kill, and the same answers again."""
    run = world.reference / "run"
    observation = np.linspace(-1, 1, 18)
    answers: list[bytes] = []
    for how in (world.rng.choice([signal.SIGTERM, signal.SIGKILL]), signal.SIGTERM):
        process = world.start("serve", run, "--port", "0")
        url = _url(process)
        pests = [
            threading.Thread(target=_pester, args=(url, world.rng.getrandbits(32)))
            for _ in range(4)
        ]
        for pest in pests:
            pest.start()
        with Client(url, timeout=120) as client:
            answers += [client.act(observation, np.zeros(18), "all").tobytes() for _ in range(50)]
        process.send_signal(how)
        for pest in pests:
            pest.join()
        ended = world.finish(process)
        world.counts[f"server: {how.name}"] += 1
        if how is signal.SIGTERM:
            hold(ended.code == 0, f"the server ended with {ended.code}: {ended.errors[-1500:]}")
        hold("Traceback" not in ended.errors, f"the server's log: {ended.errors[-1500:]}")
    hold(len(set(answers)) == 1, "the same question had several answers")


def _url(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if "serving on " in line:
            return line.partition("serving on ")[2].partition(";")[0]
    raise BrokenError(f"the server does not start: {process.communicate()[1][-1500:]}")


def _pester(url: str, seed: int) -> None:
    """A client that keeps to no rules, and leaves in the middle."""
    rng = random.Random(seed)
    host, _, port = url.removeprefix("http://").partition(":")
    for _ in range(30):
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 5) as line:
            path = rng.choice(["/v1/act", "/v1/session", "/healthz", "/v1/models"])
            head = f"{rng.choice(['GET', 'POST'])} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            more = rng.choice(["", "Upgrade: websocket\r\nConnection: upgrade\r\n"])
            size = rng.choice([0, 10, 10**5])
            whole = f"{head}{more}Content-Length: {size}\r\n\r\n".encode() + rng.randbytes(size)
            line.sendall(whole[: rng.randint(1, len(whole))])
            line.settimeout(0.2)
            line.recv(1000)


TRIALS: dict[str, tuple[Callable[[World], None], int]] = {
    "train": (train, 4),
    "train, full disk": (train_on_a_full_disk, 3),
    "train, read-only place": (train_in_a_read_only_place, 2),
    "train, other data": (train_on_changed_data, 2),
    "two at once": (two_at_once, 3),
    "import": (import_, 4),
    "collect": (collect, 3),
    "suite": (suite, 3),
    "report": (report, 2),
    "sweep": (sweep, 3),
    "sweep on Ray": (sweep_on_ray, 1),
    "serve": (serve, 2),
}
"""Each trial, and how often it comes compared with the others."""
