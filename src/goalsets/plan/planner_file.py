"""Planners in safetensors files: written in one step, and checked when they are read.

To keep the file small, states before recorded moves have only the coordinates of parts. States
after moves are whole, because they serve as waypoints for policies that see whole states. The data
set is not needed to use the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from goalsets.core import GoalsetsError, StateLayout, door
from goalsets.core.door.tensors import read_arrays, sealed
from goalsets.core.layout_file import layout_from_dict, layout_to_dict
from goalsets.plan.moves import Moves
from goalsets.plan.parts import Floats, Part
from goalsets.plan.planner import Planner
from goalsets.plan.roads import Roads

PLANNER = "planner.safetensors"
"""The name of the file in a run directory."""
_VERSION = 2
"""The version of the format. Version 1 had no whole states."""


class PlannerFileError(GoalsetsError):
    """A planner cannot be written or read; the message names the file."""


def write_planner(planner: Planner, path: str | Path) -> None:
    """Write a planner, in one step."""
    path = Path(path)
    columns = _columns(planner.parts)
    arrays: dict[str, np.ndarray] = {
        "before": planner.moves.before[:, columns],
        "after": planner.moves.after,
        "changed": planner.moves.changed.astype(np.uint8),
        "steps": planner.moves.steps,
        "usual": planner.usual[:, columns],
    }
    if planner.deviations is not None:
        arrays["deviations"] = planner.deviations
    for number, roads in enumerate(planner.roads):
        arrays |= {
            f"roads{number}.places": roads.places,
            f"roads{number}.edges": roads.edges.astype(np.int32),
            f"roads{number}.steps": roads.steps,
        }
    said = {
        "version": _VERSION,
        "layout": layout_to_dict(planner.layout),
        "parts": [_part_to_dict(part) for part in planner.parts],
        "roads": [_part_to_dict(roads.part) for roads in planner.roads],
        "reach": planner.reach,
        "wait": planner.wait,
        "data": planner.data,
        "early_turns": list(planner.early_turns),
    }
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    before = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        before.write_bytes(sealed(save, whole, {"planner": json.dumps(said)}))
        before.replace(path)
    except OSError as error:
        raise PlannerFileError(f"cannot write the planner {path}: {error}.") from None
    finally:
        before.unlink(missing_ok=True)


def read_planner(path: str | Path) -> Planner:
    """Read a planner that `write_planner` wrote."""
    path = Path(path)
    if not path.exists():
        raise PlannerFileError(f"there is no planner {path}.")
    try:
        arrays, header = read_arrays(path)
        said = door.parse_json(header["planner"], f"the header of {path}")
        if said["version"] != _VERSION:
            raise PlannerFileError(
                f"{path} has version {said['version']}; this goalsets reads version {_VERSION}."
            )
        return _planner(said, arrays)
    except PlannerFileError:
        raise
    except (
        GoalsetsError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError,
    ) as error:  # fmt: skip
        raise PlannerFileError(f"{path} is not a planner, or is damaged: {error}") from None


MOST_NUMBERS = 1 << 26
"""Numbers that an array of states may have."""


def _planner(said: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Planner:
    layout = layout_from_dict(said["layout"])
    parts = tuple(_part_from_dict(plain, layout) for plain in said["parts"])
    columns = _columns(parts)

    def finite(name: str, width: int) -> Floats:
        found = np.asarray(arrays[name], np.float32)
        if found.ndim != 2 or found.shape[1] != width or not np.isfinite(found).all():
            raise ValueError(f"{name} needs {width} finite columns, got {found.shape}.")
        return found

    def whole(name: str) -> Floats:
        found = finite(name, len(columns))
        # Rows without columns take no room in the file, so its size does not bound them.
        if len(found) * layout.dim > MOST_NUMBERS:
            raise ValueError(f"{name} has {len(found):,} states, more than a planner may keep.")
        states = np.zeros((len(found), layout.dim), np.float32)
        states[:, columns] = found
        return states

    before, after = whole("before"), finite("after", layout.dim)
    changed = np.asarray(arrays["changed"]).astype(np.bool_)
    steps = np.asarray(arrays["steps"], np.float32)
    if not len(before) == len(after) == len(changed) == len(steps):
        raise ValueError("the arrays of its moves have different lengths.")
    if changed.shape != (len(before), len(parts)) or not np.isfinite(steps).all():
        raise ValueError(f"its moves do not fit its {len(parts)} parts.")
    maps = tuple(
        _roads(number, _part_from_dict(plain, layout), arrays, layout)
        for number, plain in enumerate(said["roads"])
    )
    moves = Moves(before, after, changed, steps)
    return Planner(
        layout,
        parts,
        moves,
        whole("usual"),
        maps,
        int(said["reach"]),
        _deviations(arrays, layout),
        str(said.get("data", "")),
        wait=max(0, int(said.get("wait", 0))),
        early_turns=tuple(layout.group(str(name)).name for name in said.get("early_turns", ())),
    )


def _deviations(arrays: Mapping[str, np.ndarray], layout: StateLayout) -> Floats | None:
    if "deviations" not in arrays:
        return None
    found = np.asarray(arrays["deviations"], np.float32)
    if found.shape != (layout.dim,) or not (np.isfinite(found).all() and (found >= 0).all()):
        raise ValueError(f"its deviations must be {layout.dim} numbers of 0 or more.")
    return found


def _roads(number: int, part: Part, arrays: Mapping[str, np.ndarray], layout: StateLayout) -> Roads:
    places = np.asarray(arrays[f"roads{number}.places"], np.float32)
    edges = np.asarray(arrays[f"roads{number}.edges"], np.int64)
    steps = np.asarray(arrays[f"roads{number}.steps"], np.float32)
    if places.ndim != 2 or places.shape[1] != layout.dim or edges.shape != (len(steps), 2):
        raise ValueError("the arrays of its roads do not fit each other.")
    if len(edges) and not (edges.min() >= 0 and edges.max() < len(places)):
        raise ValueError("its roads lead to places that do not exist.")
    if not (np.isfinite(places).all() and (steps > 0).all()):
        raise ValueError(
            "its roads have places that are not finite, or prices that are not above 0."
        )
    return Roads(part, places, edges, steps)


def _columns(parts: tuple[Part, ...]) -> list[int]:
    return sorted({int(i) for part in parts for i in part.columns})


def _part_to_dict(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "groups": [group.name for group in part.groups],
        "tolerances": list(part.tolerances),
        "nature": part.nature,
        "kind": part.kind,
    }


def _part_from_dict(plain: Mapping[str, Any], layout: StateLayout) -> Part:
    groups = tuple(layout.by_name[name] for name in plain["groups"])
    tolerances = tuple(float(value) for value in plain["tolerances"])
    if len(groups) != len(tolerances) or plain["nature"] not in ("switch", "settling", "roaming"):
        raise ValueError(f"its part {plain['name']!r} has wrong groups, tolerances or nature.")
    return Part(str(plain["name"]), groups, tolerances, plain["nature"], str(plain["kind"]))
