"""Files from strangers: nothing that they hold is executed, and what is refused is named."""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from goalsets import GoalsetsError, load
from goalsets.core.door.seal import OPEN_SEAL, seal
from goalsets.runtime import ModelFileError, read_model_file
from goalsets.runtime import load as load_exported
from goalsets.runtime.model_file import understand
from tests.export.runs import STATES, exported, small_run

SOURCE = Path(__file__).parents[2] / "src"


def changed(tmp_path: Path, change) -> Path:
    """The exported file after a change of its model, with the digest that it then has."""
    model = onnx.load(exported().path)
    change(model)
    path = tmp_path / "changed.onnx"
    path.write_bytes(sealed_again(model))
    return path


def sealed_again(model: onnx.ModelProto) -> bytes:
    digests = [entry for entry in model.metadata_props if entry.key == "goalsets.digest"]
    for entry in digests:
        entry.value = OPEN_SEAL
    data = model.SerializeToString()
    return seal(data) if digests else data


def external_data(model: onnx.ModelProto) -> None:
    """Weights from another file: here a secret that the answers would give away."""
    constant = model.graph.initializer[0]
    constant.ClearField("raw_data")
    constant.data_location = TensorProto.EXTERNAL
    constant.external_data.add(key="location", value="../../etc/passwd")


def custom_operator(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "PyOp"
    model.graph.node[0].domain = "ai.onnx.contrib"
    model.opset_import.append(helper.make_opsetid("ai.onnx.contrib", 1))


def custom_domain(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = "com.microsoft"


def own_function(model: onnx.ModelProto) -> None:
    node = helper.make_node("Add", ["a", "b"], ["c"])
    opset = [helper.make_opsetid("", 20)]
    model.functions.append(helper.make_function("x", "Sub", ["a", "b"], ["c"], [node], opset))


def subgraph(model: onnx.ModelProto) -> None:
    body = helper.make_graph([], "body", [], [])
    model.graph.node[0].attribute.append(helper.make_attribute("body", body))


def endless_loop(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = "Loop"


def text_attribute(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.append(helper.make_attribute("library", "/tmp/evil.so"))


def training(model: onnx.ModelProto) -> None:
    model.training_info.add()


def short_constant(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].dims[0] = 1 << 40


def text_constant(model: onnx.ModelProto) -> None:
    tensor = helper.make_tensor("text", TensorProto.STRING, [1], [b"x"])
    model.graph.initializer.append(tensor)


def sparse_constant(model: onnx.ModelProto) -> None:
    model.graph.sparse_initializer.add()


def more_outputs(model: onnx.ModelProto) -> None:
    model.graph.output.append(helper.make_tensor_value_info("secret", TensorProto.FLOAT, [1]))


def no_layout(model: onnx.ModelProto) -> None:
    props = {entry.key: entry.value for entry in model.metadata_props}
    helper.set_model_props(model, {**props, "goalsets.layout": "[1, 2]"})


def wrong_layout(model: onnx.ModelProto) -> None:
    props = {entry.key: entry.value for entry in model.metadata_props}
    plain = json.dumps({"dim": 18, "groups": {"x": {"indices": [99]}}})
    helper.set_model_props(model, {**props, "goalsets.layout": plain})


def deep_layout(model: onnx.ModelProto) -> None:
    props = {entry.key: entry.value for entry in model.metadata_props}
    helper.set_model_props(model, {**props, "goalsets.layout": "[" * 100_000})


def no_metadata(model: onnx.ModelProto) -> None:
    del model.metadata_props[:]


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (external_data, "a constant has a part (field 13) that no exported policy has"),
        (custom_operator, "it uses operators of 'ai.onnx.contrib', which are not ONNX's own"),
        (custom_domain, "an operation has a part (field 7)"),
        (own_function, "the file has a part (field 25)"),
        (subgraph, "an attribute of Sub has a part (field 6)"),
        (endless_loop, "it computes 'Loop', which no policy needs"),
        (text_attribute, "an attribute of Sub has a part (field 4)"),
        (training, "the file has a part (field 20)"),
        (short_constant, "has 72 bytes"),
        (text_constant, "a constant has a part (field 6)"),
        (sparse_constant, "the graph has a part (field 15)"),
        (more_outputs, "outputs action and perhaps distance, got"),
        (no_layout, "its layout and its card must be JSON objects"),
        (wrong_layout, "index 99 is out of bounds"),
        (deep_layout, "is nested more than 64 deep"),
        (no_metadata, "it was not written by 'goalsets export' (format None"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_more_than_a_policy_needs_is_refused(change, message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError) as caught:
        load_exported(changed(tmp_path, change))
    assert message in str(caught.value)
    assert "changed.onnx" in str(caught.value)


@pytest.mark.full
def test_a_graph_that_cannot_be_computed_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    def misfit(model: onnx.ModelProto) -> None:
        constant = next(c for c in model.graph.initializer if len(c.dims) == 2)
        values = numpy_helper.to_array(constant)[:, :-1]
        constant.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), constant.name))

    with pytest.raises(ModelFileError, match="cannot be run"):
        load_exported(changed(tmp_path, misfit))


@pytest.mark.full
def test_any_damage_is_refused_or_harmless() -> None:
    """Bytes changed at random: an error of ours, or a file that is still a policy."""
    whole = exported().path.read_bytes()

    @settings(max_examples=150)
    @given(st.integers(0, len(whole) - 1), st.integers(0, 255), st.integers(1, 40))
    def check(position: int, value: int, count: int) -> None:
        data = bytearray(whole)
        data[position : position + count] = bytes([value]) * count
        with contextlib.suppress(ModelFileError):  # any other error fails the test
            understand(bytes(data), Path("damaged.onnx"))

    check()
    # The structure is at the start and the end; the weights between would take most of the draws.
    for cut in (*range(0, 2_000, 7), *range(len(whole) - 2_000, len(whole), 7)):
        with pytest.raises(ModelFileError, match="damaged.onnx"):
            understand(whole[:cut], Path("damaged.onnx"))


def test_other_files_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "pickle.onnx").write_bytes(pickle.dumps({"weights": [1.0]}))
    (tmp_path / "text.onnx").write_text("hello")
    (tmp_path / "empty.onnx").write_bytes(b"")
    for name in ("pickle.onnx", "text.onnx", "empty.onnx"):
        with pytest.raises(ModelFileError, match=name):
            read_model_file(tmp_path / name)
    with pytest.raises(ModelFileError, match="cannot read .*nowhere.onnx: No such file"):
        read_model_file(tmp_path / "nowhere.onnx")


class Bomb:
    """A pickle that leaves a mark when it is opened."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.mark.parametrize(
    "victim", ["checkpoint.safetensors", "frame.safetensors", "config.json", "layout.json"]
)
def test_a_run_directory_from_a_stranger_executes_nothing(victim: str, tmp_path: Path) -> None:
    """Pickles in every place that is read, bare and as torch would write them."""
    mark = tmp_path / "executed"
    bomb = pickle.dumps(Bomb(mark))
    pickle.loads(bomb)
    assert mark.exists(), "the bomb is a dud"
    mark.unlink()
    run = tmp_path / "run"
    for attempt in (bomb, None):
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(small_run().path, run)
        if attempt is not None:
            (run / victim).write_bytes(attempt)
        else:
            with zipfile.ZipFile(run / victim, "w") as archive:
                archive.writestr("archive/data.pkl", bomb)
        with pytest.raises((GoalsetsError, ValueError)):
            load(run)
        assert not mark.exists()


BLOCKED = """
import sys

class Block:
    # All that trains, draws or serves, and the library that wrote the file.
    names = {"torch", "onnx", "gymnasium", "mujoco", "ogbench", "safetensors", "scipy", "yaml",
             "tyro", "rich", "matplotlib", "jinja2", "tensorboard", "h5py", "stable_baselines3"}

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ImportError(f"{name} is not for the robot")

sys.meta_path.insert(0, Block())
import numpy as np
import goalsets.runtime

policy = goalsets.runtime.load(sys.argv[1])
states = np.load(sys.argv[2])
np.save(sys.argv[3], policy.act(states, states[0], "cube_pos & eff_yaw"))
assert "torch" not in sys.modules
"""


@pytest.mark.full
def test_the_runtime_needs_no_torch(tmp_path: Path) -> None:
    np.save(tmp_path / "states.npy", STATES)
    arguments = [exported().path, tmp_path / "states.npy", tmp_path / "actions.npy"]
    subprocess.run([sys.executable, "-c", BLOCKED, *map(str, arguments)], check=True)
    expected = small_run().load()[0].act(STATES, STATES[0], "cube_pos & eff_yaw")
    np.testing.assert_allclose(np.load(tmp_path / "actions.npy"), expected, atol=1e-5)


def _more(model: onnx.ModelProto, kind: str, *inputs: str, **constants: np.ndarray) -> None:
    """Add an operation between the last one and the action."""
    model.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in constants.items())
    last = next(node for node in model.graph.node if "action" in node.output)
    last.output[list(last.output).index("action")] = "nearly"
    model.graph.node.append(helper.make_node(kind, inputs, ["more"]))
    model.graph.node.append(helper.make_node("Identity", ["nearly"], ["action"]))


def expand_without_end(model: onnx.ModelProto) -> None:
    _more(model, "Expand", "nearly", "wide", wide=np.array([1_250_000_000, 1], np.int64))


def multiply_without_end(model: onnx.ModelProto) -> None:
    tall, wide = np.ones((50_000, 1), np.float32), np.ones((1, 50_000), np.float32)
    _more(model, "MatMul", "tall", "wide", tall=tall, wide=wide)


def tile_by_what_is_computed(model: onnx.ModelProto) -> None:
    model.graph.node.insert(0, helper.make_node("ArgMax", ["observation"], ["times"], keepdims=0))
    _more(model, "Tile", "nearly", "times")


def a_long_chain(model: onnx.ModelProto) -> None:
    """A thousand products, each of which is allowed by itself."""
    square = np.ones((1000, 1000), np.float32)
    model.graph.initializer.append(numpy_helper.from_array(square, "p0"))
    for number in range(1000):
        names = [f"p{number}", "p0"], [f"p{number + 1}"]
        model.graph.node.append(helper.make_node("MatMul", *names))


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (expand_without_end, r"\(Expand\): for one observation it makes \d,\d{3},000,000 numbers"),
        (multiply_without_end, r"\(MatMul\): for one observation it makes 2,500,000,000 numbers"),
        (tile_by_what_is_computed, "the size of its result depends on computed numbers"),
        (a_long_chain, "multiplications; a policy may make"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_work_without_end_is_refused_before_it_begins(change, message, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=message):
        read_model_file(changed(tmp_path, change))


@pytest.mark.full
def test_a_flipped_bit_is_an_error(tmp_path: Path) -> None:
    """Of weights, too, which nothing but the digest can tell."""
    whole = exported().path.read_bytes()
    path = tmp_path / "flipped.onnx"
    for place in np.random.default_rng(0).integers(len(whole), size=300):
        data = bytearray(whole)
        data[place] ^= 1 << int(place) % 8
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match=r"flipped\.onnx"):
            read_model_file(path)
