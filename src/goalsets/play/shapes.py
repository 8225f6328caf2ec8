"""The shapes of a MuJoCo model for a page: meshes with few triangles and one colour each.

mjviser turns geoms into meshes. A robot's visual meshes have hundreds of thousands of triangles.
The page shows every robot twice, once as a ghost, so the meshes are thinned first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import StateLayout
from goalsets.envs.task import Shows

Colour = tuple[int, int, int]

_VISIBLE = 3
"""Geoms of higher groups are for collisions, and are not drawn."""
_CELL, _GHOST_CELL = 0.006, 0.018
"""Vertices of large meshes that are closer than this, in metres, are merged."""
_LARGE = 500
"""Meshes with at least this many vertices are thinned."""
_UNSET = (0.5, 0.5, 0.5, 1.0)
_FLOOR: Colour = (226, 229, 233)
_WALL: Colour = (176, 158, 130)
_PLANE, _BOX = 0, 6


@dataclass(frozen=True)
class Mesh:
    """Triangles of one colour, in the frame of their body."""

    vertices: NDArray[np.float32]
    faces: NDArray[np.int64]
    colour: Colour
    button: int | None = None
    """The button whose colour it shows; the colour depends on the state."""


@dataclass(frozen=True)
class Body:
    """A body that can be seen."""

    index: int
    name: str
    moves: bool
    meshes: tuple[Mesh, ...]
    groups: frozenset[str]
    """The groups of the layout that it shows; empty if none."""

    @property
    def small(self) -> bool:
        """Whether it is a small object and not a link: it could hide its ghost."""
        return len(self.meshes) == 1 or any(mesh.button is not None for mesh in self.meshes)

    def ghost(self) -> Mesh:
        """The whole body as one coarse mesh, for a transparent ghost."""
        counts = np.cumsum([0, *(len(mesh.vertices) for mesh in self.meshes)])
        vertices = np.concatenate([mesh.vertices for mesh in self.meshes])
        faces = np.concatenate(
            [mesh.faces + first for mesh, first in zip(self.meshes, counts, strict=False)]
        )
        if len(vertices) > _LARGE:
            vertices, faces = thinned(vertices, faces, _GHOST_CELL)
        return Mesh(vertices, faces, self.meshes[0].colour)


def bodies_of(model: Any, layout: StateLayout, shows: Shows = ()) -> list[Body]:  # noqa: ANN401
    """All visible bodies of a model, except the marks of the environment's own goal.

    Args:
        model: MuJoCo's model.
        layout: The layout of the states.
        shows: Which groups a body shows: see `goalsets.envs.task.Scene`.
    """
    from mjviser.conversions import is_fixed_body

    geoms: dict[int, list[int]] = defaultdict(list)
    for geom in range(model.ngeom):
        if _seen(model, geom):
            geoms[int(model.geom_bodyid[geom])].append(geom)
    names = [model.body(index).name for index in range(model.nbody)]
    shown = _groups_of(model, names, layout, shows)
    return [
        Body(
            index,
            names[index] or f"body_{index}",
            not is_fixed_body(model, index),
            tuple(_meshes(model, ids)),
            shown[index],
        )
        for index, ids in sorted(geoms.items())
    ]


def _seen(model: Any, geom: int) -> bool:  # noqa: ANN401 - as above
    name = model.geom(geom).name
    mark = name == "target" or name.startswith("target_")
    return not mark and model.geom_group[geom] < _VISIBLE and model.geom_rgba[geom, 3] > 0.3


def _groups_of(
    model: Any,  # noqa: ANN401 - as above
    names: list[str],
    layout: StateLayout,
    shows: Shows,
) -> list[frozenset[str]]:
    if not shows:  # not declared: any body may show any group
        return [frozenset(layout.by_name)] * len(names)
    found: list[frozenset[str]] = []
    for index, name in enumerate(names):  # parents come before their children
        prefixes = _prefixes(name, shows)
        groups = frozenset(g for g in layout.by_name if any(g.startswith(p) for p in prefixes))
        parent = int(model.body_parentid[index])
        found.append(groups or (found[parent] if index else frozenset()))
    return found


def _prefixes(name: str, shows: Shows) -> tuple[str, ...]:
    for pattern, prefixes in shows:
        match = re.match(pattern, name)
        if match is not None:
            return tuple(prefix.format(*match.groups()) for prefix in prefixes)
    return ()


def _meshes(model: Any, geoms: list[int]) -> list[Mesh]:  # noqa: ANN401 - as above
    """The geoms of a body, those of one colour together."""
    from mjviser.conversions import merge_geoms

    by_look: dict[tuple[Colour, int | None], list[int]] = defaultdict(list)
    for geom in geoms:
        by_look[_colour(model, geom), _button(model, geom)].append(geom)
    found: list[Mesh] = []
    for (colour, button), ids in by_look.items():
        merged = merge_geoms(model, ids)
        vertices = np.asarray(merged.vertices, dtype=np.float32)
        faces = np.asarray(merged.faces)
        if len(vertices) > _LARGE:
            vertices, faces = thinned(vertices, faces, _CELL)
        found.append(Mesh(vertices, faces, colour, button))
    return found


def thinned(
    vertices: NDArray[np.float32], faces: NDArray[np.int64], cell: float
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Merge vertices that share a cell of a grid, and drop triangles that collapse."""
    cells = np.floor(vertices / cell).astype(np.int64)
    _, owner, count = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    owner = owner.reshape(-1)
    centres = np.stack([np.bincount(owner, vertices[:, axis]) for axis in range(3)], axis=1)
    centres /= count[:, None]
    corners = owner[faces]
    open_ = (
        (corners[:, 0] != corners[:, 1])
        & (corners[:, 1] != corners[:, 2])
        & (corners[:, 2] != corners[:, 0])
    )
    kept = np.unique(corners[open_], axis=0)
    return centres.astype(np.float32), kept


def _colour(model: Any, geom: int) -> Colour:  # noqa: ANN401 - as above
    """The colour by MuJoCo's rule: the geom's own if set, else its material's; plain grounds."""
    if model.geom_type[geom] == _PLANE:
        return _FLOOR
    geom = _own_colour(model, geom)
    material = int(model.geom_matid[geom])
    if model.geom_bodyid[geom] == 0 and model.geom_type[geom] == _BOX and material >= 0:
        return _WALL
    rgba = model.geom_rgba[geom]
    if material >= 0 and tuple(float(v) for v in rgba) == _UNSET:
        rgba = model.mat_rgba[material]
    red, green, blue = (round(255 * float(np.clip(v, 0, 1))) for v in rgba[:3])
    return red, green, blue


def _own_colour(model: Any, geom: int) -> int:  # noqa: ANN401 - as above
    """The geom with the true colour of a geom: the mark of its goal, if there is one.

    OGBench's environments paint an object paler while it is at its goal.
    """
    mark = f"target_{model.geom(geom).name}"
    return next((g for g in range(model.ngeom) if model.geom(g).name == mark), geom)


def _button(model: Any, geom: int) -> int | None:  # noqa: ANN401 - as above
    match = re.match(r"btngeom_(\d+)$", model.geom(geom).name)
    return None if match is None else int(match[1])
