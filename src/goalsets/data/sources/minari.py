"""The `minari` source: a Minari data set by its id or its directory.

Minari stores the state after the last action, so nothing is dropped. Dictionary and tuple
observations are joined into one vector in a declared order. Observations of goal environments, such
as PointMaze or Fetch, also contain goals; these are separated from the state.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode, GoalsetsError
from goalsets.core.door import check_regular, read_json
from goalsets.core.errors import suggest
from goalsets.data.flatten import FieldSpec, choose_fields, flatten, leaves
from goalsets.data.sources.base import (
    LEFT_OUT,
    SOURCES,
    Notices,
    SourceError,
    Split,
    check_split,
    make_episode,
    require,
)
from goalsets.data.sources.goal_env import Parts, has_goals, part_goals
from goalsets.data.sources.spaces import space_ends, space_shapes

_LOOKED_AT = 10
"""How many episodes are read to find out whether an achieved goal is a copy."""
# A MinariDataset: Minari is an extra, so its types cannot be named here.
Dataset = Any


@SOURCES.register("minari")
@dataclass(frozen=True)
class Minari:
    """A Minari data set; it has no validation episodes of its own."""

    dataset: str
    """An id such as `D4RL/door/human-v2`, or the directory of a data set."""
    observations: tuple[str, ...] = ()
    """Dotted keys of the observations, in the order of the flat vector. By default every vector,
    sorted, without the desired goal of a goal environment. Its achieved goal is left out if the
    rest of the observation contains it."""
    extras: tuple[str, ...] = ()
    """Dotted keys of `infos` to keep for each observation."""
    download: bool = False
    """Let Minari download the data set if it is not on this machine."""
    rate: float | None = None
    """Steps a second; Minari does not store it."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)
    given: Dataset | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def from_dataset(
        cls, data: Dataset, observations: Sequence[str] = (), extras: Sequence[str] = ()
    ) -> Minari:
        """A source for a `minari.MinariDataset` object, for example one with filtered episodes."""
        if not (hasattr(data, "total_episodes") and hasattr(data, "observation_space")):
            raise SourceError(
                f"expected a minari.MinariDataset, got {type(data).__name__}. For a data set on "
                "disk, give its id or directory: Minari(name)."
            )
        source = cls(str(data.id), tuple(observations), tuple(extras))
        object.__setattr__(source, "given", data)  # not a setting of the command line
        return source

    @property
    def has_validation(self) -> bool:
        """Minari has no splits."""
        return False

    def fields(self) -> tuple[FieldSpec, ...]:
        """One field for each observation key; a single Box has no name."""
        return self._parts(self._load()).named()

    def describe(self) -> str:
        """Say what is being read."""
        data = self._load()
        return f"Minari data set {self.dataset} with {data.total_episodes} episodes"

    def known_action_space(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The ends of the data set's action space."""
        data = self._load()
        return space_ends(data.action_space, self._action_fields(data))

    def episodes(self, split: Split = "train") -> Iterator[Episode]:
        """Read all episodes, one at a time."""
        check_split(split, self.has_validation, f"Minari data set {self.dataset!r}")
        data = self._load()
        parts = self._parts(data)
        actions = self._action_fields(data)
        for recorded in self._recorded(data):
            where = f"Minari data set {self.dataset!r}, episode {recorded.id}"
            try:
                episode = make_episode(
                    where,
                    parts.flatten(recorded.observations),
                    flatten(recorded.actions, actions),
                    self._extras(recorded, where),
                    self.notices,
                )
            except SourceError:
                raise
            except GoalsetsError as error:
                raise SourceError(f"{where}: {error}") from None
            if episode is not None:
                yield episode

    def _load(self) -> Dataset:
        if self.given is not None:
            return self.given
        minari = require("minari", "minari")
        directory = Path(self.dataset).expanduser()
        try:
            if directory.is_dir():
                # The metadata are in `data`; the user may name either directory.
                inner = directory / "data"
                directory = inner if inner.is_dir() else directory
                _check_files(directory)
                return minari.MinariDataset(directory)
            return minari.load_dataset(self.dataset, download=self.download)
        except SourceError:
            raise
        except FileNotFoundError:
            raise SourceError(
                f"Minari data set {self.dataset!r} is not on this machine "
                f"(local ones: {', '.join(minari.list_local_datasets()) or 'none'}). "
                f"Set 'download', or run: minari download {self.dataset}"
            ) from None
        except ImportError as error:  # the library of the data set's own file format
            raise SourceError(f"Minari data set {self.dataset!r}: {error}") from None
        except (ValueError, LookupError, OSError, TypeError, AttributeError, RuntimeError,
                AssertionError, MemoryError) as error:  # fmt: skip
            raise SourceError(
                f"cannot read the Minari data set {self.dataset!r}: {error}"
            ) from None

    def _recorded(self, data: Dataset) -> Iterator[Any]:
        """Minari's episodes; errors while reading name the data set and the episode."""
        for index in range(data.total_episodes):
            try:
                recorded = data[index]
            except (OSError, LookupError, ValueError, TypeError, AttributeError, AssertionError,
                    RuntimeError, MemoryError) as error:  # fmt: skip
                raise SourceError(
                    f"Minari data set {self.dataset!r}: episode {index} of {data.total_episodes} "
                    f"is missing or damaged ({' '.join(str(error).split())})."
                ) from None
            yield recorded

    def _parts(self, data: Dataset) -> Parts:
        try:
            fields, left_out = choose_fields(
                space_shapes(data.observation_space), self.observations
            )
            if self.observations:
                return Parts(fields)
            for key in left_out:
                self.notices.add(LEFT_OUT.format(key))
            if not has_goals(field.name for field in fields):
                return Parts(fields)
            some = itertools.islice(self._recorded(data), _LOOKED_AT)
            return part_goals(fields, [recorded.observations for recorded in some], self.notices)
        except SourceError:
            raise
        except GoalsetsError as error:
            raise SourceError(f"Minari data set {self.dataset!r}: {error}") from None

    def _action_fields(self, data: Dataset) -> tuple[FieldSpec, ...]:
        """The parts of actions. A part that is not numbers is an error."""
        try:
            fields, left_out = choose_fields(space_shapes(data.action_space))
        except GoalsetsError as error:
            raise SourceError(f"Minari data set {self.dataset!r}, actions: {error}") from None
        if left_out:
            raise SourceError(
                f"Minari data set {self.dataset!r}: actions {', '.join(map(repr, left_out))} are "
                "not vectors of numbers."
            )
        if data.action_space.dtype is not None and data.action_space.dtype.kind in "iu":
            self.notices.add("actions are discrete: they were read as plain numbers")
        return fields

    def _extras(self, recorded: Any, where: str) -> dict[str, NDArray[Any]]:  # noqa: ANN401
        if not self.extras:
            return {}
        infos = leaves(recorded.infos or {})
        for key in self.extras:
            if key not in infos:
                raise SourceError(f"{where}: infos have no {key!r}: {suggest(key, infos)}")
        return {key: np.asarray(infos[key]) for key in self.extras}


def _check_files(directory: Path) -> None:
    """Refuse pipes, devices and a damaged metadata.json before Minari opens them.

    Minari numbers all episodes when it opens a data set, so their count must fit the files.
    """
    for inside in sorted(directory.iterdir()):
        if not inside.is_dir():
            check_regular(inside, kind=SourceError)
    if not (directory / "metadata.json").exists():
        return
    about = read_json(directory / "metadata.json", kind=SourceError)
    episodes = about.get("total_episodes") if isinstance(about, dict) else None
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    if isinstance(episodes, int | float) and episodes > size:
        raise SourceError(
            f"{directory / 'metadata.json'}: 'total_episodes' is {episodes:,}, but the files of "
            f"the data set have only {size:,} bytes together."
        )
