"""Files changed at random: their bytes, and what they say."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator

_WORDS = [
    b"\0" * 8,
    b"\xff" * 8,
    b"\0\0\0\x80",
    b"\xff\xff\xff\x7f",
    b"[" * 40,
    b'"',
    b"{",
    b"1e999",
]


def change_bytes(data: bytes, rng: Rng) -> bytes:
    """One to four changes at random places."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        _BYTES[rng.integers(len(_BYTES))](found, rng)
    return bytes(found)


def _place(data: bytearray, rng: Rng) -> int:
    # Structure lies at the ends: half of the changes go there.
    near = min(len(data), 512)
    return int(
        rng.choice(
            [
                rng.integers(len(data) + 1),
                rng.integers(near + 1),
                len(data) - rng.integers(near + 1),
            ]
        )
    )


def _flip(data: bytearray, rng: Rng) -> None:
    if data:
        data[min(_place(data, rng), len(data) - 1)] ^= 1 << int(rng.integers(8))


def _write(data: bytearray, rng: Rng) -> None:
    at, word = _place(data, rng), _WORDS[rng.integers(len(_WORDS))]
    data[at : at + len(word)] = word


def _remove(data: bytearray, rng: Rng) -> None:
    at = _place(data, rng)
    del data[at : at + int(rng.integers(1, 64))]


def _repeat(data: bytearray, rng: Rng) -> None:
    at, size = _place(data, rng), int(rng.integers(1, 64))
    data[at:at] = data[at : at + size] * int(rng.integers(1, 5))


def _noise(data: bytearray, rng: Rng) -> None:
    at, size = _place(data, rng), int(rng.integers(1, 64))
    data[at : at + size] = rng.bytes(size)


def _cut(data: bytearray, rng: Rng) -> None:
    del data[_place(data, rng) :]


_BYTES: list[Callable[[bytearray, Rng], None]] = [
    _flip,
    _flip,
    _write,
    _remove,
    _repeat,
    _noise,
    _cut,
]


def _deep(levels: int) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


def _odd(rng: Rng) -> Any:
    """Something that is seldom expected. It is made anew, because later changes may be inside."""
    odd: list[Any] = [
        None, True, False, 0, 1, -1, 7, 0.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63,
        2**70, 10**100,
        "", "x", "é\0", "x" * 5000, "0:4000000000", "../../etc/passwd", "/dev/zero", "2024-13-45",
        [], {}, [[]], [None], {"": None}, [1, "a", None], {"a": {"b": {}}}, _deep(50), _deep(500),
        [[1, 2], [3]], list(range(200)),
    ]  # fmt: skip
    return odd[rng.integers(len(odd))]


def change_plain(plain: Any, rng: Rng) -> Any:
    """One to three changes of what JSON or YAML says."""
    found = copy.deepcopy(plain)
    for _ in range(int(rng.integers(1, 4))):
        found = _change_one(found, rng)
    return found


def _change_one(plain: Any, rng: Rng) -> Any:
    places = list(_containers(plain))
    if not places or rng.random() < 0.03:
        return _odd(rng)
    node = places[rng.integers(len(places))]
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    odd = _odd(rng)
    how = rng.integers(6)
    if not keys or how == 0:
        node.update({"odd": odd}) if isinstance(node, dict) else node.append(odd)
        return plain
    key = keys[rng.integers(len(keys))]
    if how == 1:
        del node[key]
    elif how == 2:
        node[key] = [node[key]]
    elif how == 3 and isinstance(node[key], int | float):
        node[key] = node[key] * int(rng.integers(-3, 1000)) + float(rng.normal())
    elif how == 4 and isinstance(node, dict):
        node[str(key) + "x"] = node.pop(key)
    else:
        node[key] = odd
    return plain


def _containers(plain: Any, depth: int = 0) -> Any:
    if isinstance(plain, dict | list) and depth < 60:
        yield plain
        for value in plain.values() if isinstance(plain, dict) else plain[:50]:
            yield from _containers(value, depth + 1)


def odd_array(array: np.ndarray, rng: Rng) -> np.ndarray:
    """An array of another shape or type, or with other numbers."""
    changes: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda a: a.astype(np.float64),
        lambda a: a.astype(np.complex64),
        lambda a: a.astype("S8"),
        lambda a: a.astype(np.int8),
        lambda a: a.reshape(-1),
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: a[:0],
        lambda a: a[:-1],
        lambda a: np.asarray(a.reshape(-1)[:1].sum()),
        lambda a: np.concatenate([a, a]),
        np.asfortranarray,
        lambda a: a * np.asarray(-1).astype(a.dtype),
        lambda a: np.zeros((3, 0), a.dtype),
        lambda a: np.full_like(a, np.nan) if a.dtype.kind == "f" else a + 2**40,
    ]
    with np.errstate(all="ignore"):
        return changes[rng.integers(len(changes))](array)
