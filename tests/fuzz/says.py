"""Changes of what a file says, and not only of its bytes."""

from __future__ import annotations

import csv
import io
import json
import zipfile

import numpy as np
import yaml

from goalsets.core.door.seal import MARK, digest, seal
from tests.fuzz.mutate import Rng, change_plain, odd_array


def says_json(data: bytes, rng: Rng) -> bytes:
    return json.dumps(change_plain(json.loads(data), rng)).encode()


def says_yaml(data: bytes, rng: Rng) -> bytes:
    if rng.random() < 0.1:
        return data + b"\nb: &b [1, 1, 1, 1]\nc: &c [*b, *b, *b]\nd: [*c, *c, *c]\n"
    return yaml.safe_dump(change_plain(yaml.safe_load(data), rng)).encode()


def says_lines(data: bytes, rng: Rng) -> bytes:
    lines = data.splitlines()
    number = int(rng.integers(len(lines)))
    lines[number] = says_json(lines[number], rng)
    return b"\n".join(lines) + b"\n"


def says_csv(data: bytes, rng: Rng) -> bytes:
    rows = list(csv.reader(io.StringIO(data.decode())))
    row = rows[rng.integers(len(rows))]
    row[rng.integers(len(row))] = str(
        rng.choice(["", "x", "nan", "1e400", "-1", '"', "\0", "9" * 5000])
    )
    if rng.random() < 0.3:
        row.append("more")
    found = io.StringIO()
    csv.writer(found).writerows(rows)
    return found.getvalue().encode()


def says_npy(data: bytes, rng: Rng) -> bytes:
    array = np.load(io.BytesIO(data))
    if rng.random() < 0.3:  # another header over the same numbers
        shape = f"({10 ** int(rng.integers(1, 18))}, {array.shape[-1]})"
        return data.replace(
            str(array.shape).encode(), shape.encode().ljust(len(str(array.shape))), 1
        )
    found = io.BytesIO()
    np.save(found, odd_array(array, rng))
    return found.getvalue()


def says_npz(data: bytes, rng: Rng) -> bytes:
    arrays = dict(np.load(io.BytesIO(data)))
    key = list(arrays)[rng.integers(len(arrays))]
    array = arrays.pop(key)
    if rng.random() < 0.9:
        arrays[key + "x" * (rng.random() < 0.1)] = odd_array(array, rng)
    found = io.BytesIO()
    if rng.random() < 0.1:  # something that is no array
        np.savez(found, **arrays)
        with zipfile.ZipFile(found, "a") as archive:
            archive.writestr(f"{key}.npy", rng.bytes(40))
    else:
        (np.savez_compressed if rng.random() < 0.5 else np.savez)(found, **arrays)
    return found.getvalue()


def says_tensors(data: bytes, rng: Rng) -> bytes:
    """Another header over the same tensors; its digest is then that of another file."""
    size = int.from_bytes(data[:8], "little")
    header = json.dumps(change_plain(json.loads(data[8 : 8 + size]), rng)).encode()
    header = header.ljust(-(-len(header) // 8) * 8)
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def says_hdf5(data: bytes, rng: Rng) -> bytes:
    import h5py

    memory = io.BytesIO(data)
    with h5py.File(memory, "a") as file:
        names: list[str] = []
        file.visit(names.append)
        name = names[rng.integers(len(names))]
        node = file[name]
        how = rng.integers(5)
        if how == 0 or not hasattr(node, "shape"):
            values = None
        else:
            values = odd_array(node[()], rng) if node.dtype.kind in "biuf" else np.arange(3)
        attributes = dict(node.attrs)
        del file[name]
        if how == 1:
            file.create_group(name)
        elif how == 2:
            file.create_dataset(name, shape=(10**9, 300), chunks=(1000, 300), dtype="f4")
        elif how == 3:
            file[name] = h5py.ExternalLink("/dev/zero", "/")
        elif values is not None:
            file[name] = values
        else:
            file[name] = np.arange(4.0)
        if how != 3:
            file[name].attrs.update(attributes)
    return memory.getvalue()


def forge(data: bytes) -> bytes:
    """Give a file the digest that fits its content, where it has room for one."""
    if data.lstrip().startswith(b"{"):
        from goalsets.evaluate.suites.suite import _digest

        plain = json.loads(data)
        plain.pop("digest", None)
        return json.dumps({**plain, "digest": _digest(plain)}).encode()
    head, body = _with_digests(data)
    place = head.rfind(MARK) + len(MARK)
    if place < len(MARK):
        return data
    return seal(head[:place] + b"0" * 32 + head[place + 32 :]) + body


def _with_digests(data: bytes) -> tuple[bytes, bytes]:
    """What the seal covers, and what it does not: tensors have digests of their own."""
    size = 8 + int.from_bytes(data[:8], "little")
    head, body = data[:size], data[size:]
    try:
        header = json.loads(head[8:])
        written = header.pop("__metadata__")["digests"]
        found = written.split()
        for place, entry in enumerate(header.values()):
            start, end = entry["data_offsets"]
            found[place] = digest(body[start:end])
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return data, b""
    return head.replace(written.encode(), " ".join(found).encode()), body
