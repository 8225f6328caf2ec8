"""The `lerobot` source: a LeRobotDataset of format v3.0, read with pyarrow.

Frames of all episodes follow one another in `data/chunk-000/file-000.parquet` and the next files.
An episode may begin in one file and end in the next. `meta/info.json` describes the columns;
`meta/episodes` gives the length of each episode. A frame holds an observation and the action taken
on it. So the state after the last action is not recorded, and the last action is dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode, GoalsetsError
from goalsets.core.errors import suggest
from goalsets.data.flatten import FieldSpec, Shape, choose_fields, flatten, vector_shape
from goalsets.data.sources.arrow import read_batches
from goalsets.data.sources.base import (
    LEFT_OUT,
    SOURCES,
    Notices,
    SourceError,
    Split,
    as_matrix,
    check_split,
    make_episode,
    require,
)
from goalsets.data.sources.lerobot_meta import Meta, coordinate_names, read_meta
from goalsets.data.sources.rows import cut_runs, join_pieces

_ROWS = 8192


@SOURCES.register("lerobot")
@dataclass(frozen=True)
class LeRobot:
    """A LeRobotDataset v3.0 in a directory or on the Hugging Face hub."""

    dataset: str
    """The directory of the data set; with `download`, a repository such as `lerobot/pusht`."""
    observations: tuple[str, ...] = ()
    """Features of the observation, in the order of the flat vector. By default every vector whose
    name starts with `observation`, sorted."""
    actions: str = "action"
    """The feature that holds the actions."""
    extras: tuple[str, ...] = ()
    """Further features to keep for each observation, such as `timestamp` or `task_index`."""
    download: bool = False
    """Download the data set from the hub, without its videos."""
    revision: str | None = None
    """With `download`: a branch, tag or commit."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    @property
    def has_validation(self) -> bool:
        """Whether the data set lists a validation split."""
        return self._meta().split("validation") is not None

    def fields(self) -> tuple[FieldSpec, ...]:
        """One field for each feature, without the prefix `observation.`, with coordinate names."""
        meta = self._meta()
        return tuple(
            replace(
                field,
                name=field.name.removeprefix("observation."),
                names=coordinate_names(meta.features[field.name].get("names"), field.size),
            )
            for field in self._fields(meta)
        )

    def describe(self) -> str:
        """Say what is being read."""
        meta = self._meta()
        return f"LeRobot data set {self.dataset} with {len(meta.lengths)} episodes"

    def known_rate(self) -> float | None:
        """The frames a second that the data set was recorded with."""
        return self._meta().fps

    def episodes(self, split: Split = "train") -> Iterator[Episode]:
        """Read the episodes of a split, one at a time."""
        meta = self._meta()
        wanted = meta.split(split)
        check_split(split, wanted is not None, f"LeRobot data set {self.dataset!r}")
        fields = self._fields(meta)
        missing = set(wanted or ())
        seen: set[int] = set()
        for index, group in itertools.groupby(
            self._pieces(meta, fields), key=lambda piece: piece[0]
        ):
            where = f"{meta.root}, episode {index}"
            if index not in meta.lengths:
                raise SourceError(
                    f"{meta.root}: the data files hold frames of episode {index}, which "
                    "meta/episodes does not list."
                )
            if index in seen:
                raise SourceError(f"{where}: its frames are not next to each other.")
            seen.add(index)
            if index not in missing:
                continue
            missing.remove(index)
            columns = join_pieces([piece for _, piece in group])
            _check_frames(where, columns, meta.lengths[index])
            episode = make_episode(
                where,
                flatten(columns, fields),
                as_matrix(columns[self.actions], f"{where}, {self.actions!r}"),
                {key: columns[key] for key in self.extras},
                self.notices,
            )
            if episode is not None:
                yield episode
        if missing:
            raise SourceError(
                f"{meta.root}: the data files hold no frames of episode {min(missing)}."
            )

    def _meta(self) -> Meta:
        directory = Path(self.dataset).expanduser()
        if self.download:
            directory = self._snapshot()
        elif not directory.is_dir():
            raise SourceError(
                f"there is no directory {directory}. To download the repository {self.dataset!r} "
                "from the Hugging Face hub, set 'download'."
            )
        return read_meta(directory)

    def _snapshot(self) -> Path:
        hub = require("huggingface_hub", "hub")
        try:
            found = hub.snapshot_download(
                self.dataset,
                repo_type="dataset",
                revision=self.revision,
                allow_patterns=["meta/*", "data/*"],
            )
        except Exception as error:  # whatever the hub's client and its HTTP library raise
            raise SourceError(
                f"cannot download the LeRobot data set {self.dataset!r} from the hub: {error}"
            ) from None
        return Path(found)

    def _fields(self, meta: Meta) -> tuple[FieldSpec, ...]:
        shapes = {
            key: _feature_shape(feature)
            for key, feature in meta.features.items()
            if self.observations or key.split(".")[0] == "observation"
        }
        try:
            fields, left_out = choose_fields(shapes, self.observations)
        except GoalsetsError as error:
            raise SourceError(f"{meta.root}: {error}") from None
        for key in () if self.observations else left_out:
            self.notices.add(LEFT_OUT.format(key))
        return fields

    def _pieces(
        self, meta: Meta, fields: tuple[FieldSpec, ...]
    ) -> Iterator[tuple[int, Mapping[str, NDArray[Any]]]]:
        """Read all files in order and yield runs of rows of one episode, with its index."""
        keys = {field.name: field.size for field in fields}
        for key in (self.actions, *self.extras):
            if key not in meta.features:
                raise SourceError(
                    f"{meta.root}: there is no feature {key!r}: {suggest(key, meta.features)}"
                )
            keys[key] = (_feature_shape(meta.features[key]) or (1,))[0]
        keys |= {"episode_index": 1, "frame_index": 1}
        for path in meta.files:
            for columns in read_batches(path, keys, _ROWS):
                for index, piece in cut_runs(columns, "episode_index"):
                    yield int(index), piece


def _check_frames(where: str, columns: Mapping[str, NDArray[Any]], length: int) -> None:
    frames = columns["frame_index"]
    if len(frames) != length:
        raise SourceError(
            f"{where}: the data files hold {len(frames)} frames; expected {length}, "
            "as meta/episodes says."
        )
    if not np.array_equal(frames, np.arange(length)):
        raise SourceError(f"{where}: 'frame_index' does not count from 0 to {length - 1}.")


def _feature_shape(feature: Mapping[str, Any]) -> Shape | None:
    """The shape of a feature of numbers; None for images, videos and text."""
    try:
        return vector_shape(tuple(feature["shape"]), str(feature["dtype"]))
    except (TypeError, ValueError):  # "image", "video" and others are not types of NumPy
        return None
