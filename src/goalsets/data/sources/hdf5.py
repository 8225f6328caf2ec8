"""The `hdf5` source: files of robomimic, and flat files like those of D4RL.

Only robomimic's files have a group `data`:

* robomimic: `data/demo_0/obs/<key>` and `data/demo_0/actions`, perhaps `next_obs`, and the lists of
  episodes `mask/train` and `mask/valid`;
* flat: `observations`, `actions`, `terminals`, `timeouts`, one row a step.

One episode is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode, GoalsetsError
from goalsets.core.door import parse_json
from goalsets.core.door.hdf5 import (
    Node,
    as_dataset,
    as_group,
    check_growth,
    open_hdf5,
    read_dataset,
)
from goalsets.core.errors import suggest
from goalsets.data.flatten import FieldSpec, Shape, choose_fields, flatten, vector_shape
from goalsets.data.sources.base import (
    LEFT_OUT,
    SOURCES,
    Notices,
    SourceError,
    Split,
    as_matrix,
    check_split,
    make_episode,
    natural,
    require,
)
from goalsets.data.sources.rows import RowLog, name_fields


@SOURCES.register("hdf5")
@dataclass(frozen=True)
class Hdf5:
    """Episodes in an HDF5 file: one group for each (robomimic), or rows (D4RL)."""

    path: Path
    """The file."""
    observations: tuple[str, ...] = ()
    """Keys of the observations, in the order of the flat vector. By default every vector under
    `obs`, sorted; in a flat file, `observations`."""
    actions: str = "actions"
    """Key of the actions."""
    extras: tuple[str, ...] = ()
    """Keys of further values to keep for each observation, such as `states` or `infos/qpos`."""
    ends: tuple[str, ...] = ("terminals", "timeouts")
    """Flat files: keys that mark the last row of an episode; any of them is enough."""
    use_next: bool = True
    """Take the state after the last action from `next_obs` or `next_<key>`, if the file has it.
    Extras have no value for that state, so with `extras` it is left out."""
    train_mask: str = "train"
    """Robomimic: the list under `mask` of the episodes to train on. Without such a list, all
    episodes that are not for validation."""
    validation_mask: str = "valid"
    """Robomimic: the list under `mask` of the episodes to validate on."""
    rate: float | None = None
    """Steps a second; by default robomimic's `control_freq`, if the file has it."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Accept the path as text too."""
        object.__setattr__(self, "path", Path(self.path))

    @property
    def has_validation(self) -> bool:
        """Whether the file lists validation episodes."""
        with self._open() as file:
            return f"mask/{self.validation_mask}" in file

    def fields(self) -> tuple[FieldSpec, ...]:
        """One field for each observation key; the single vector of a flat file has no name."""
        with self._open() as file:
            if "data" in file:
                return self._fields(self._demo(file, self._demos(file)[0]))
            keys = self.observations or ("observations",)
            return name_fields({key: self._matrix_width(file, key) for key in keys})

    def describe(self) -> str:
        """Say what is being read."""
        with self._open() as file:
            if "data" in file:
                return f"robomimic file {self.path} with {len(self._demos(file))} episodes"
        return f"flat HDF5 file {self.path}"

    def known_rate(self) -> float | None:
        """The control frequency of the environment, if robomimic recorded it."""
        with self._open() as file:
            text = file["data"].attrs.get("env_args", "{}") if "data" in file else "{}"
        try:
            found = parse_json(str(text), "env_args")["env_kwargs"]["control_freq"]
        except (GoalsetsError, KeyError, TypeError):  # other programs write something else there
            return None
        usable = isinstance(found, int | float) and 0 < found < 1e9
        return float(found) if usable else None

    def episodes(self, split: Split = "train") -> Iterator[Episode]:
        """Read the episodes of a split, one at a time."""
        check_split(split, self.has_validation, self.path)
        with self._open() as file:
            if "data" not in file:
                yield from self._row_log(file).episodes(self.notices)
                return
            fields = self._fields(self._demo(file, self._demos(file)[0]))
            size, given = self.path.stat().st_size, 0
            for name in self._split(file, split):
                episode = self._read_demo(self._demo(file, name), fields)
                if episode is not None:
                    given += episode.observations.nbytes + episode.actions.nbytes
                    check_growth(size, given, str(self.path), SourceError)
                    yield episode

    @contextmanager
    def _open(self) -> Iterator[Node]:
        """Open the file. Errors of h5py, at opening or at reading, are raised with its name."""
        require("h5py", "hdf5")
        if not self.path.exists():
            raise SourceError(f"there is no file {self.path}.")
        with open_hdf5(self.path, SourceError) as file:
            yield file

    # --- robomimic: one group for each episode -------------------------------------------------

    def _demos(self, file: Node) -> list[str]:
        group = as_group(file["data"], f"{self.path}: 'data'", SourceError)
        demos = sorted(group, key=natural)
        if not demos:
            raise SourceError(f"{self.path}: the group 'data' holds no episodes.")
        return demos

    def _demo(self, file: Node, name: str) -> Node:
        return as_group(file["data"][name], f"{self.path}: 'data/{name}'", SourceError)

    def _split(self, file: Node, split: Split) -> list[str]:
        """The episodes of a split: see `train_mask` and `validation_mask`."""
        demos = self._demos(file)
        wanted = self.train_mask if split == "train" else self.validation_mask
        if f"mask/{wanted}" in file:
            chosen = self._mask(file, wanted)
        elif f"mask/{self.validation_mask}" in file:
            chosen = set(demos) - self._mask(file, self.validation_mask)
        else:
            return demos
        for name in sorted(chosen, key=natural):
            if name not in demos:
                raise SourceError(
                    f"{self.path}: mask/{wanted} lists {name!r}, but there is no such episode: "
                    f"{suggest(name, demos[:100])}"
                )
        return sorted(chosen, key=natural)

    def _mask(self, file: Node, name: str) -> set[str]:
        place = f"{self.path}: 'mask/{name}'"
        names = read_dataset(file[f"mask/{name}"], place, SourceError)
        if names.ndim != 1 or names.dtype.kind not in "SUO":
            raise SourceError(
                f"{place}: expected a list of names of episodes, got {names.dtype} of shape "
                f"{list(names.shape)}."
            )
        return {n.decode() if isinstance(n, bytes) else str(n) for n in names}

    def _fields(self, demo: Node) -> tuple[FieldSpec, ...]:
        shapes = {key: self._step_shape(node) for key, node in self._observations(demo).items()}
        try:
            fields, left_out = choose_fields(shapes, self.observations)
        except GoalsetsError as error:
            raise SourceError(f"{self.path}, {demo.name}/obs: {error}") from None
        for key in () if self.observations else left_out:
            self.notices.add(LEFT_OUT.format(key))
        return fields

    def _observations(self, demo: Node, group: str = "obs") -> dict[str, Node]:
        """The data sets under `obs` by their dotted keys."""
        found: dict[str, Node] = {}

        def visit(name: str, node: Node) -> None:
            if hasattr(node, "shape"):
                found[name.replace("/", ".")] = node

        place = f"{self.path}: {demo.name}/{group}"
        as_group(self._member(demo, group), place, SourceError).visititems(visit)
        return found

    def _read_demo(self, demo: Node, fields: tuple[FieldSpec, ...]) -> Episode | None:
        where = f"{self.path}, {demo.name}"
        actions = as_matrix(self._values(demo, self.actions), f"{where}/{self.actions}")
        observations = self._flatten(demo, "obs", fields)
        use_next = self.use_next and not self.extras and "next_obs" in demo
        if use_next and len(observations) == len(actions):
            following = self._flatten(demo, "next_obs", fields)
            if len(following) != len(observations):
                raise SourceError(
                    f"{where}/next_obs has {len(following)} steps; expected {len(observations)}, "
                    "as obs has."
                )
            observations = np.concatenate([observations, following[-1:]])
        extras = {key: self._values(demo, key) for key in self.extras}
        return make_episode(where, observations, actions, extras, self.notices)

    def _flatten(
        self, demo: Node, group: str, fields: tuple[FieldSpec, ...]
    ) -> NDArray[np.float32]:
        nodes = self._observations(demo, group)
        wanted = {field.name for field in fields}
        try:
            found = {
                key: read_dataset(node, f"{self.path}, {node.name}", SourceError)
                for key, node in nodes.items()
                if key in wanted
            }
            return flatten(found, fields)
        except SourceError:
            raise
        except GoalsetsError as error:
            raise SourceError(f"{self.path}, {demo.name}/{group}: {error}") from None

    def _member(self, group: Node, key: str) -> Node:
        if key not in group:
            raise SourceError(
                f"{self.path}: {group.name} has no {key!r}: {suggest(key, list(group))}"
            )
        return group[key]

    def _array(self, group: Node, key: str) -> Node:
        """A data set of the file; its values are not read yet."""
        node = self._member(group, key)
        return as_dataset(node, f"{self.path}: {group.name.rstrip('/')}/{key}", SourceError)

    def _values(self, group: Node, key: str) -> NDArray[Any]:
        return np.asarray(self._array(group, key)[()])

    def _step_shape(self, node: Node) -> Shape | None:
        found = as_dataset(node, f"{self.path}: {node.name}", SourceError)
        return vector_shape(tuple(found.shape[1:]), found.dtype)

    # --- flat: one row for each step -----------------------------------------------------------

    def _matrix_width(self, file: Node, key: str) -> int:
        shape = self._step_shape(self._array(file, key))
        if shape is None or len(shape) > 1:
            raise SourceError(
                f"{self.path}: {key!r} has shape {list(self._array(file, key).shape)}: expected "
                "[rows, coordinates]; images cannot be part of a state."
            )
        return shape[0] if shape else 1

    def _row_log(self, file: Node) -> RowLog:
        keys = self.observations or ("observations",)
        for key in keys:
            self._matrix_width(file, key)
        ends = [key for key in self.ends if key in file]
        if not ends:
            raise SourceError(
                f"{self.path}: expected a group 'data' (robomimic) or one of "
                f"{', '.join(map(repr, self.ends))} (flat file); the file has "
                f"{', '.join(map(repr, file))}."
            )
        has_next = self.use_next and all(f"next_{key}" in file for key in keys)
        return RowLog(
            file=str(self.path),
            observations={key: self._array(file, key) for key in keys},
            actions={self.actions: self._array(file, self.actions)},
            ends={key: self._values(file, key) for key in ends},
            next_observations={key: self._array(file, f"next_{key}") for key in keys if has_next},
            extras={key: self._array(file, key) for key in self.extras},
        )
