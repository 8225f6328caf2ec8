"""Further kinds: logs of robots, small files of commands, and messages between programs."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from goalsets.core import GoalsetsError, Query
from goalsets.envs.tabletop import tabletop_layout
from tests.fuzz.good import make_lerobot, npz_bytes
from tests.fuzz.kind import Kind
from tests.fuzz.reading import episodes, written
from tests.fuzz.says import says_json, says_lines, says_npz, says_yaml

LAYOUT = tabletop_layout(1)
STATE = np.zeros(18, np.float32)

# --- Logs ---------------------------------------------------------------------------------------

ROS = {"observations": ("/joint_states.position",), "actions": ("/command.data",)}


def _bag(plugin: str, *, one: bool = False) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        from tests.data.bag_files import timeline, write_bag

        write_bag(place / ("log.bag" if one else "bag"), plugin, timeline(0.3), one=one)

    return make


def _json_bag(place: Path) -> None:
    from tests.data.bag_files import write_mcap_json

    write_mcap_json(place / "log.mcap")


def _ros(name: str) -> Callable[[Path], object]:
    def read(place: Path) -> object:
        from goalsets.data.sources import Ros

        source = Ros((place / name,), **ROS)
        return [episode.observations.tolist() for episode in source.episodes()]

    return read


def _minari(place: Path) -> None:
    """What Minari writes: arrays in HDF5, and a description in JSON."""
    import h5py
    import minari

    directory = place / "log" / "data"
    directory.mkdir(parents=True)
    rng = np.random.default_rng(0)
    with h5py.File(directory / "main_data.hdf5", "w") as file:
        for number in range(3):
            episode = file.create_group(f"episode_{number}")
            episode.attrs.update({"id": number, "total_steps": 5, "seed": 1})
            episode["observations"] = rng.normal(size=(6, 3))
            episode["actions"] = rng.normal(size=(5, 2)).astype(np.float32)
            episode["rewards"] = np.zeros(5)
            episode["terminations"], episode["truncations"] = np.zeros((2, 5), bool)
            episode.create_group("infos")

    def space(size: int, dtype: str) -> str:
        ends = {"low": [-1e9] * size, "high": [1e9] * size}
        return json.dumps({"type": "Box", "dtype": dtype, "shape": [size], **ends})

    about = {"total_episodes": 3, "total_steps": 15, "data_format": "hdf5", "dataset_id": "a/b-v0"}
    about |= {"observation_space": space(3, "float64"), "action_space": space(2, "float32")}
    about |= {"minari_version": minari.__version__, "env_spec": None, "dataset_size": 0.1}
    (directory / "metadata.json").write_text(json.dumps(about))


def _recorded(place: Path) -> object:
    from goalsets.data.sources import Minari

    source = Minari(str(place / "log"))
    source.fields()
    source.describe()
    return [episode.observations.tolist() for episode in source.episodes()]


def _ogbench(place: Path) -> object:
    from goalsets.data.sources.ogbench import check_file

    check_file(place / "log.npz")
    return episodes("npz", "log.npz", ends=("terminals",), use_next=False, filler=True)(place)


# --- Commands -----------------------------------------------------------------------------------


def _goal(place: Path) -> object:
    from goalsets.evaluate.goals import GoalFinder

    finder = GoalFinder(LAYOUT, ["one"], lambda _: STATE, 1, lambda: STATE[None])
    found = finder.find(str(place / "goal.json"))[0]
    assert np.isfinite(found).all()
    return found.tolist()


TEXTS = b"""cube_pos & eff_yaw:20deg
all - [0:3] & (block0_pos:1cm)
0.1 <= block0_pos.z <= 0.6
block0_pos=0.4,0.1,0.02m
bank:block0_pos.x >= 0.05m
task:1
"""


def _texts(place: Path) -> object:
    """Questions, conditions, edits and names of goals, as people and clients type them."""
    from goalsets.evaluate.conditions import Condition
    from goalsets.evaluate.goals import GoalFinder, edit_goal

    bank = np.ones((3, 18), np.float32)
    finder = GoalFinder(LAYOUT, ["one"], lambda _: STATE, 1, lambda: bank)
    readers = [
        lambda text: str(Query.parse(text, LAYOUT)),
        lambda text: Condition.parse(text, LAYOUT).holds(bank).tolist(),
        lambda text: edit_goal(STATE, [text], LAYOUT).tolist(),
        lambda text: finder.find(text)[1],
    ]
    found: list[object] = []
    for text in (place / "texts.txt").read_bytes().decode(errors="replace").splitlines():
        for read in readers:
            try:
                found.append(read(text))
            except GoalsetsError as error:  # each text is a text of one reader only
                found.append(str(error))
    return found


JOINTS = b"joint_pos: [shoulder, elbow, wrist]\nblock0_pos: cube\n"


def _joints(place: Path) -> object:
    from goalsets.play.logs.joints import Joint, map_joints, read_joints

    joints = [
        Joint(n, n, "hinge", i, (-3, 3)) for i, n in enumerate(["shoulder", "elbow", "wrist"])
    ]
    joints.append(Joint("cube", "cube", "free", 3, None))
    given = read_joints([str(place / "joints.yaml")])
    return [drive.source for drive in map_joints(joints, LAYOUT, STATE[None], given).drives]


def _landscape(place: Path) -> None:
    from goalsets.envs.tasks import TASKS

    (plane,) = TASKS["pointmaze-medium-navigate-v0"].terrain.planes()
    distances = np.ones((1, 2, *plane.walls.shape), np.float16)
    np.savez_compressed(place / "landscape.npz", queries=["a", "b"], distances=distances, step=7)


def _kept_landscape(place: Path) -> object:
    from goalsets.evaluate.landscape import kept_landscape
    from goalsets.runs.config import TrainConfig

    found = kept_landscape(place, TrainConfig("pointmaze-medium-navigate-v0", "gcdl", steps=7))
    return found and (found.queries, found.distances.astype(np.float64).sum())


def _notes(place: Path) -> object:
    """What processes write beside their work for others: each of these is as good as none."""
    from goalsets.lock import read_holder
    from goalsets.report.write import _earlier
    from goalsets.sweep.drive import read_driver

    path = place / "driver.json"
    return read_driver(place), read_holder(path), _earlier(path)


NOTE = {"slots": 3, "pid": 7, "host": "h", "since": "s", "command": "c", "files": ["tables/a.md"]}


# --- Collections --------------------------------------------------------------------------------


def _plan():
    from goalsets.collect.plan import Plan
    from goalsets.collect.recipes import recipe_for

    name = "cube-single-noisy-v0"
    return Plan(name, recipe_for(name), 0, 2, 1)


def _collection(place: Path) -> None:
    from goalsets.collect.plan import versions

    about = {**_plan().identity(), "versions": versions()}
    (place / "plan.json").write_text(json.dumps(about))
    for name in ("train-000000-000002.npz", "validation-000000-000001.npz"):
        (place / name).write_bytes(npz_bytes())


def _collected(place: Path) -> object:
    from goalsets.collect.files import join
    from goalsets.collect.shards import Shards

    whole = (place / "plan.json").read_bytes()
    joined = io.BytesIO()
    with Shards(place, _plan()) as shards:
        (place / "plan.json").write_bytes(whole)  # it was written anew
        rows = [join(shards.paths(split), joined) for split in ("train", "validation")]
    return rows, hashlib.blake2b(joined.getvalue(), digest_size=8).hexdigest()


# --- Messages -----------------------------------------------------------------------------------

MESSAGES = [
    {"type": "ask", "model": "robot", "goal": [0.0] * 18, "query": "all", "plan": False},
    {"type": "ask", "goal": {"block0_pos": [1, 2, 3]}, "query": "x", "tolerances": {"a": "1cm"}},
    {"type": "observe", "observation": [0.5] * 18},
]


def _message(place: Path) -> object:
    """A message that the server reads, of a session or as a body."""
    from pydantic import ValidationError

    from goalsets.serve.reading import Bounds
    from goalsets.serve.schema import ActRequest
    from goalsets.serve.session import ProtocolError, _read

    bounds, found = Bounds.of([LAYOUT], 16), []
    for line in (place / "messages.jsonl").read_bytes().splitlines():
        try:
            bounds.check(line)
            found.append(repr(_read(line.decode(errors="replace"))))
            ActRequest.model_validate_json(line)
        except (GoalsetsError, ProtocolError, ValidationError) as error:
            found.append(type(error).__name__)
    return found


ANSWER = {
    "type": "action",
    "action": [0.5, 1],
    "reached": False,
    "error": {"code": "a", "message": "b"},
    "plan": {"due": 0, "missing": None, "price": 3, "plans": 1, "text": "t", "steps": [
        {"words": "w", "query": "q", "values": {"a": [1.0]}, "parts": ["a"], "price": 3,
         "support": 2, "far": 0.5, "aside": False}
    ]},
}  # fmt: skip


def _answer(place: Path) -> object:
    """A message that the client reads."""
    from goalsets.serve.client_plan import read_plan
    from goalsets.serve.client_words import expected, read_answer, read_message

    data = (place / "answer.json").read_bytes()
    read_message(data)
    answer = read_answer(200, data)
    with expected("action"):
        return np.asarray(answer["action"], np.float32).tolist(), str(read_plan(answer["plan"]))


OTHERS: dict[str, Kind] = {
    "lerobot-tables": Kind(make_lerobot, "**/*.parquet", episodes("lerobot", "")),
    "ogbench": Kind(written("log.npz", npz_bytes), "log.npz", _ogbench, says_npz),
    "minari-index": Kind(_minari, "log/data/metadata.json", _recorded, says_json),
    "minari-data": Kind(_minari, "log/data/main_data.hdf5", _recorded),
    "ros-index": Kind(_bag("SQLITE3"), "bag/metadata.yaml", _ros("bag"), says_yaml),
    "ros-sqlite": Kind(_bag("SQLITE3"), "bag/*.db3", _ros("bag")),
    "ros-mcap": Kind(_bag("MCAP"), "bag/*.mcap", _ros("bag")),
    "ros-1": Kind(_bag("", one=True), "log.bag", _ros("log.bag")),
    "mcap-json": Kind(_json_bag, "log.mcap", _ros("log.mcap")),
    "collection-plan": Kind(_collection, "plan.json", _collected, says_json),
    "collection-shard": Kind(_collection, "*.npz", _collected, says_npz),
    "goal": Kind(
        written("goal.json", b'{"block0_pos": [1, 2, 3], "eff_yaw": "30deg"}'.strip),
        "goal.json",
        _goal,
        says_json,
    ),
    "texts": Kind(written("texts.txt", TEXTS.strip), "texts.txt", _texts),
    "joints": Kind(written("joints.yaml", JOINTS.strip), "joints.yaml", _joints, says_yaml),
    "landscape": Kind(_landscape, "landscape.npz", _kept_landscape, says_npz),
    "notes": Kind(
        written("driver.json", json.dumps(NOTE).encode), "driver.json", _notes, says_json
    ),
    "messages": Kind(
        written("messages.jsonl", "\n".join(map(json.dumps, MESSAGES)).encode),
        "messages.jsonl",
        _message,
        says_lines,
    ),
    "answers": Kind(written("answer.json", json.dumps(ANSWER).encode), "answer.json", _answer,
                    says_json),
}  # fmt: skip
"""Logs, files of commands and collections, and messages of server and client."""
