"""The door: what is refused, and that the refusal says where and why."""

from __future__ import annotations

import io
import json
import os
import re
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save, save_file

from goalsets.core import GoalsetsError, LayoutError, door, read_layout
from goalsets.core.door.fit import Count
from goalsets.core.door.seal import OPEN_SEAL, digest
from goalsets.core.door.tensors import read_arrays, read_tensors, sealed
from goalsets.core.errors import FileError

READERS = [
    door.read_bytes,
    door.read_text,
    door.read_json,
    door.read_yaml,
    door.read_csv,
    door.read_json_lines,
    door.read_array,
    door.Archive,
    door.check_regular,
    read_arrays,
    read_layout,
]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_only_files_are_read(read, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer, for ever
    for path, found in {
        tmp_path / "pipe": "a named pipe",
        tmp_path: "a directory",
        Path("/dev/zero"): "a device",
    }.items():
        with pytest.raises(GoalsetsError, match=f"{path}: expected a file, got {found}"):
            read(path)
    with pytest.raises(GoalsetsError, match="nowhere"):
        read(tmp_path / "nowhere")


def test_size_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(
        FileError, match=r"it has 1,099,511,627,776 bytes, more than the 33,554,432"
    ):
        door.read_json(path)


def test_text_is_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(FileError, match=r"it is not a text file \(byte 7 is not UTF-8\)"):
        door.read_json(tmp_path / "a.json")


def aliases(levels: int) -> str:
    """Ten lines that stand for 9 ** levels values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 9)}]"
        for number in range(1, levels)
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (aliases(10), "line 5: its aliases mean more than 20,000 values"),
        ("a: &a {<<: [*a, *a]}", "an alias contains itself"),
        ("[" * 200 + "]" * 200, "line 1: it is nested more than 64 deep"),
        ("a: 2024-13-45", "a value cannot be read"),
        ("a: !!timestamp soon", "a value cannot be read"),
        ("a: !!python/object/apply:os.system [ls]", "is not YAML"),
        ("a: 1\na: 2", "names 'a' twice"),
    ],
)
def test_yaml_is_bounded(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        door.parse_yaml(text, "x.yaml", once=True)
    assert door.parse_yaml("a: &a [1]\nb: [*a, *a]", "x.yaml") == {"a": [1], "b": [[1], [1]]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "x.json is nested more than 64 deep"),
        ("[" * 70 + '"]"' + "]" * 70, "nested more than 64 deep"),
        ('{"a": 1, "a": 2}', "x.json names 'a' twice"),
        ("9" * 10_000, "x.json is not JSON"),
        ("{", "x.json is not JSON: Expecting property name"),
    ],
)
def test_json_is_bounded(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        door.parse_json(text, "x.json", once=True)
    brackets = json.dumps("[" * 1000)  # in a text, they are no depth
    assert door.parse_json(f"[{brackets}, {brackets}]", "x.json") == ["[" * 1000] * 2


@pytest.mark.parametrize("width", [1, 40])
def test_json_is_64_deep_at_most(width: int) -> None:
    """Texts in it may hold brackets, quotes and backslashes, in keys and in values."""
    plain: Any = 1
    for level in range(1, 66):
        texts = ["]" * level, '"{' + "\\" * level, "\\\\[", "[\ud800"]
        plain = {'"}\\': [*texts[: level % 5], plain]} if level % 2 else [plain, *width * texts]
        deep = 1.5 * level + level % 2 / 2  # an odd level adds a mapping with a list
        text = json.dumps(plain)
        if deep <= 64:
            assert door.parse_json(text, "x") == plain
        else:
            with pytest.raises(FileError, match="x is nested more than 64 deep"):
                door.parse_json(text, "x")


@dataclass
class Part:
    size: Count


@dataclass
class Whole:
    name: str
    parts: list[Part]


def test_a_type_that_does_not_fit_is_said_with_its_place() -> None:
    good = {"name": "a", "parts": [{"size": 1}, {"size": 2}]}
    assert door.fit(good, Whole, "x.json").parts[1].size == 2
    for changed, message in (
        (
            {**good, "parts": [{"size": "two"}]},
            r"'parts\[0\].size': expected a whole number, got 'two'",
        ),
        ({**good, "parts": [{"size": -1}]}, r"expected a whole number of at least 0, got -1"),
        ({**good, "parts": [{}]}, r"'parts\[0\]': there is no 'size'"),
        ({**good, "name": None}, "'name': expected a text, got None"),
        ([1], r"x.json: expected a mapping, got \[1\]"),
    ):
        with pytest.raises(FileError, match=message):
            door.fit(changed, Whole, "x.json")


def test_arrays_are_numbers_that_are_there(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(6.0).reshape(2, 3))
    whole = path.read_bytes()
    assert door.read_array(path).shape == door.read_array(path, mapped=True).shape == (2, 3)
    path.write_bytes(whole.replace(b"(2, 3), ", b"(9999,9)"))
    with pytest.raises(FileError, match=r"float64\[9999, 9\] takes 719,928 bytes, got 48"):
        door.read_array(path)
    path.write_bytes(whole[:-8])
    with pytest.raises(FileError, match="is truncated or damaged"):
        door.read_array(path, mapped=True)
    for array in (np.array(["a"]), np.array([1j]), np.array([{}], dtype=object)):
        np.save(path, array, allow_pickle=True)
        with pytest.raises(FileError, match="expected an array of numbers"):
            door.read_array(path)


@pytest.mark.parametrize("shape", ["(2L, 3L)", "(2, 3)"])
def test_headers_of_arrays_as_others_write_them(shape: str, tmp_path: Path) -> None:
    """Python 2 wrote its long numbers with an L; the order of the keys is free."""
    header = f"{{'shape': {shape}, 'fortran_order': True, 'descr': '>f8'}}"
    data = b"\x93NUMPY\x01\0\x76\0" + header.ljust(117).encode() + b"\n"
    values = np.arange(6.0).astype(">f8")
    path = tmp_path / "a.npy"
    path.write_bytes(data + values.tobytes())
    assert door.read_array(path).tolist() == values.reshape(2, 3, order="F").tolist()
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(path, "a.npy")
    with door.Archive(tmp_path / "a.npz") as archive:
        assert archive.read("a").tolist() == door.read_array(path).tolist()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{'descr': '<f8', 'fortran_order': False}", "there is no 'shape'"),
        ("{'descr': '<f8', 'fortran_order': 0, 'shape': ()}", "expected true or false, got 0"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1.5,)}", "expected a whole number"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}" + 9000 * " " + "$", "NumPy"),
        (20_000 * " ", "up to 10,000"),
    ],
)
def test_headers_of_arrays_that_are_damaged(header: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    size = len(header).to_bytes(2, "little")
    path.write_bytes(b"\x93NUMPY\x01\0" + size + header.encode() + bytes(8))
    begun = time.process_time()
    with pytest.raises(FileError, match=message):
        door.read_array(path)
    assert time.process_time() - begun < 0.2  # NumPy's own parser takes seconds for the spaces


def test_an_archive_may_not_grow_without_bounds(tmp_path: Path) -> None:
    """Three gigabytes of zeros that take three megabytes, and less if they are zipped twice."""
    path = tmp_path / "zeros.npz"
    header = io.BytesIO()
    shape = (3 << 18, 1024)
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": shape}
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", header.getvalue() + bytes(1 << 20))
    with pytest.raises(FileError, match="takes 3,221,225,472 bytes"):
        door.Archive(path)
    # Its table of contents says how large it becomes: no byte of it need be unpacked.
    size = (300 << 20).to_bytes(4, "little")
    data = bytearray(path.read_bytes())
    place = data.rfind(b"PK\x01\x02")
    data[place + 24 : place + 28] = size
    path.write_bytes(data)
    with pytest.raises(FileError, match="is refused: .* bytes would become 314,572,800"):
        door.Archive(path)


def test_tensors_are_sealed(tmp_path: Path) -> None:
    """Every bit of a file that is flipped is an error with the file's name."""
    path = tmp_path / "weights.safetensors"
    arrays = {"a": np.arange(4, dtype=np.float32), "b": np.ones((2, 2), np.float32)}
    whole = sealed(save, arrays, {"step": "3"})
    path.write_bytes(whole)
    found, header = read_arrays(path)
    assert found.keys() == arrays.keys()
    assert header == {"step": "3"}
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        path.write_bytes(data)
        with pytest.raises(FileError, match=r"weights\.safetensors"):
            read_arrays(path)


def test_only_tensors_that_are_read_are_checked(tmp_path: Path) -> None:
    """A flipped bit in another tensor changes nothing; anywhere else, it is an error."""
    path = tmp_path / "checkpoint.safetensors"
    values = {"learner.a": np.arange(3.0), "optimiser.b": np.arange(20.0)}
    whole = sealed(save, values, {"step": "3"})
    path.write_bytes(whole)
    found = read_tensors(path, wanted=lambda name: name == "learner.a")
    assert {name: value.tolist() for name, value in found.tensors.items()} == {
        "learner.a": [0, 1, 2]
    }
    assert found.metadata == {"step": "3"}
    unread = 0
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        path.write_bytes(data)
        try:
            again = read_tensors(path, wanted=lambda name: name == "learner.a")
        except FileError:
            continue
        unread += 1
        assert (again.tensors["learner.a"] == values["learner.a"]).all()
        with pytest.raises(FileError, match=r"its content in 'optimiser.b' is not what was"):
            read_tensors(path)
    assert unread == 20 * 8


def test_files_with_one_digest_for_all_are_checked(tmp_path: Path) -> None:
    """Files of before each tensor had its own digest, in a header of the library."""
    path = tmp_path / "weights.safetensors"
    whole = door.seal(save({"a": np.ones(3), "b": np.zeros(4)}, metadata={"digest": OPEN_SEAL}))
    path.write_bytes(whole)
    assert read_tensors(path, wanted=lambda name: name == "a").tensors["a"].tolist() == [1, 1, 1]
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        path.write_bytes(data)
        with pytest.raises(FileError, match=r"weights\.safetensors"):
            read_tensors(path, wanted=lambda name: name == "a")


@pytest.mark.parametrize("offsets", [[8, 16], [0, 4], [4, 12]])
def test_every_byte_belongs_to_a_tensor(offsets: list[int], tmp_path: Path) -> None:
    """A byte of no tensor would have no digest."""
    size = (offsets[1] - offsets[0]) // 4
    header = {"a": {"dtype": "F32", "shape": [size], "data_offsets": offsets}}
    about = {"digest": OPEN_SEAL, "digests": digest(bytes(offsets[1] - offsets[0]))}
    text = json.dumps({"__metadata__": about, **header}).encode()
    path = tmp_path / "weights.safetensors"
    path.write_bytes(door.seal(len(text).to_bytes(8, "little") + text) + bytes(16))
    with pytest.raises(FileError, match="cannot read"):
        read_arrays(path)


@pytest.mark.parametrize("digests", ["", "0" * 32, " ".join(["0" * 32] * 2)])
def test_digests_that_do_not_fit(digests: str, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    header = save({"a": np.ones(3)}, metadata={"digest": OPEN_SEAL, "digests": digests})[:-24]
    path.write_bytes(door.seal(header) + np.ones(3).tobytes())
    with pytest.raises(FileError, match="is damaged"):
        read_arrays(path)


def test_files_of_older_versions_are_read_with_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "old.safetensors"
    save_file({"a": np.ones(3, np.float32)}, path)
    assert read_arrays(path)[0]["a"].tolist() == [1, 1, 1]
    assert caplog.messages == [
        f"note: {path} has no digest, like files of older versions: damage cannot be detected."
    ]


def test_a_header_that_lies_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    for data, message in {
        b"": "is not a safetensors file",
        (1 << 40).to_bytes(8, "little") + b"{}": "its header should take 1,099,511,627,776 bytes",
        (2).to_bytes(8, "little") + b"[]": "expected a mapping",
        (2).to_bytes(8, "little") + b"{x": "is not JSON",
    }.items():
        path.write_bytes(data)
        with pytest.raises(FileError, match=message):
            read_arrays(path)
    # A digest that fits, and tensors that reach beyond the file.
    lying = {"a": {"dtype": "F32", "shape": [1 << 30], "data_offsets": [0, 1 << 32]}}
    header = json.dumps({**lying, "__metadata__": {"digest": OPEN_SEAL}}).encode()
    path.write_bytes(door.seal(len(header).to_bytes(8, "little") + header))
    with pytest.raises(FileError, match="cannot read"):
        read_arrays(path)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"dim": 4, "groups": {"a": {"indices": "0:4000000000"}}}, "may reach to 65,536"),
        ({"dim": 4, "groups": {"a": {"indices": "0:" + "9" * 5000}}}, "may reach to 65,536"),
        ({"dim": 4_000_000_000, "groups": {}}, "up to 65,536 coordinates, got dim=4,000,000,000"),
        ({"dim": 4, "groups": {"a": {"indices": [0], "scale": 10**400}}}, "too large a number"),
        (
            {
                "dim": 4,
                "groups": {"a": {"indices": [0]}},
                "aliases": {
                    "b0": "a & a",
                    **{f"b{n}": f"b{n - 1} & b{n - 1}" for n in range(1, 40)},
                },
            },
            "stands for more than 256 names",
        ),
    ],
)
def test_a_layout_decides_no_endless_work(layout: dict, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(layout))
    with pytest.raises(LayoutError, match=message):
        read_layout(tmp_path / "a.json")


def test_nobody_reads_past_the_door() -> None:
    """Ruff holds the rule where it sees the library's name; these are asked for by `require`."""
    source = Path(door.__file__).parents[2]
    allowed = {
        r"h5py\.File\(": {"core/door/hdf5.py"},
        r"ParquetFile\(|read_table\(": {"data/sources/arrow.py"},
        # Figures and films are our own, made a moment ago.
        r"(?<!door)\.read_bytes\(": {"report/page.py", "play/film.py"},
        r"np\.load\(|load_file\(|safe_open\(": {"core/door/tensors.py"},
    }
    for pattern, places in allowed.items():
        found = {
            str(path.relative_to(source))
            for path in source.rglob("*.py")
            if re.search(pattern, path.read_text(encoding="utf-8"))
        }
        assert found == places, pattern
