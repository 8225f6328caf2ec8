"""Frame: what a policy must know about its data: layout, normaliser, horizon, action bounds."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

import numpy as np
from safetensors.numpy import save

from goalsets.core import GoalsetsError, StateLayout
from goalsets.core.door import parse_json
from goalsets.core.door.tensors import read_arrays, sealed
from goalsets.data.bounds import Bounds, Origin
from goalsets.data.normaliser import Normaliser
from goalsets.data.switches import read_switches, write_switches

_LOW, _HIGH, _ORIGIN = "action_low", "action_high", "action_bounds"
_SWITCHES = "action_switches"
_STATE, _ACTION = ("state_mean", "state_std"), ("action_mean", "action_std", _LOW, _HIGH)
_MOST_STEPS = 10**9


@dataclass(frozen=True)
class Frame:
    """What a policy must know about its data."""

    layout: StateLayout
    normaliser: Normaliser
    horizon: int
    """H_max."""
    bounds: Bounds
    """The bounds of actions, and which of them are switches, in the data's own units."""


def write_frame(frame: Frame, path: Path) -> None:
    """Write a frame without its layout, with a digest."""
    fields = dataclasses.asdict(frame.normaliser)
    fields |= {_LOW: frame.bounds.low, _HIGH: frame.bounds.high}
    whole = {name: np.ascontiguousarray(value) for name, value in fields.items()}
    told = {"horizon": str(frame.horizon), _ORIGIN: frame.bounds.origin}
    if frame.bounds.switches:
        told[_SWITCHES] = json.dumps(write_switches(frame.bounds.switches))
    path.write_bytes(sealed(save, whole, told))


def read_frame(path: Path, layout: StateLayout) -> Frame:
    """Read a file that `write_frame` wrote, and check it against the layout."""
    arrays, header = read_arrays(path)
    missing = [name for name in (*_STATE, *_ACTION[:2]) if name not in arrays]
    if missing:
        raise GoalsetsError(f"{path} has no {missing[0]!r}.")
    ones = Bounds.plus_minus_one(arrays["action_mean"].size)  # for older runs
    known = _LOW in arrays
    arrays = {_LOW: ones.low, _HIGH: ones.high, **arrays}
    actions = arrays["action_mean"].shape
    for name in (*_STATE, *_ACTION):
        wanted = (layout.dim,) if name in _STATE else actions[:1]
        _check(arrays[name], wanted, f"{path}: {name!r}", above_zero=name.endswith("std"))
    unknown = sorted(set(arrays) - {*_STATE, *_ACTION})
    if unknown:
        raise GoalsetsError(f"{path} has an unknown entry {unknown[0]!r}.")
    horizon = header.get("horizon", "")
    if not (horizon.isascii() and horizon.isdecimal() and 1 <= int(horizon[:11]) <= _MOST_STEPS):
        raise GoalsetsError(
            f"{path}: 'horizon' must be a whole number up to {_MOST_STEPS:,}, got {horizon[:40]!r}."
        )
    origin = header.get(_ORIGIN, "data" if known else "older")
    if origin not in get_args(Origin):
        raise GoalsetsError(f"{path}: {_ORIGIN!r} must be one of {', '.join(get_args(Origin))}.")
    place = f"{path}: {_SWITCHES!r}"
    switches = read_switches(parse_json(header.get(_SWITCHES, "{}"), place), actions[0], place)
    bounds = Bounds(arrays.pop(_LOW), arrays.pop(_HIGH), cast("Origin", origin), switches)
    return Frame(layout, Normaliser(**arrays), int(horizon), bounds)


def _check(values: np.ndarray, shape: tuple[int, ...], place: str, *, above_zero: bool) -> None:
    if values.dtype != np.float32 or values.shape != shape or values.size == 0:
        raise GoalsetsError(
            f"{place}: expected float32{list(shape)}, got {values.dtype}{list(values.shape)}."
        )
    # Bounds are infinite if the environment accepts any number.
    bounded = place.endswith(("low'", "high'"))
    if np.isnan(values).any() or not (bounded or np.isfinite(values).all()):
        raise GoalsetsError(f"{place} must hold finite numbers, got NaN or infinity.")
    if above_zero and not (values > 0).all():
        raise GoalsetsError(f"{place} must hold deviations above 0.")
