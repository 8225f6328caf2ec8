"""Reads the `meta` directory of a LeRobotDataset v3.0, and checks it against the data files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalsets.core import door
from goalsets.core.door.fit import Count
from goalsets.data.sources.arrow import DAMAGE, open_parquet
from goalsets.data.sources.base import SourceError, Split, natural, require

_VALIDATION = ("validation", "valid", "val")
_COLUMNS = ("episode_index", "length", "data/chunk_index", "data/file_index")
# LeRobot's own converter, which its releases since 0.4 have in this module.
_CONVERT = "python -m lerobot.scripts.convert_dataset_v21_to_v30 --repo-id=<repository>"


@dataclass(frozen=True)
class Meta:
    """A data set's description."""

    root: Path
    """Its directory."""
    features: Mapping[str, Mapping[str, Any]]
    """By column: its dtype, shape and names."""
    lengths: Mapping[int, int]
    """Frames of each episode, by episode index."""
    files: Sequence[Path]
    """The data files, in the order of their frames."""
    splits: Mapping[str, range]
    """Episode indices by the name of a split."""
    fps: float | None
    """Frames a second; None if the description does not give it."""

    def split(self, split: Split) -> list[int] | None:
        """The episodes of a split; None if there is no validation split.

        Without a training split, all episodes that are not for validation are for training.
        """
        validation = next((self.splits[n] for n in _VALIDATION if n in self.splits), None)
        if split == "validation":
            return None if validation is None else [i for i in self.lengths if i in validation]
        train = self.splits.get("train")
        if train is not None:
            return [index for index in self.lengths if index in train]
        return [index for index in self.lengths if index not in (validation or ())]


def read_meta(root: Path) -> Meta:
    """Read the description of a data set and check it against its data files."""
    info = _read_info(root)
    template = str(
        info.get("data_path", "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet")
    )
    lengths, places = _read_episodes(root)
    pattern = re.sub(r"\{[^}]*\}", "*", template)
    try:
        files = sorted(root.glob(pattern), key=lambda p: natural(str(p)))
    except (ValueError, NotImplementedError, RecursionError, OSError) as error:
        raise SourceError(
            f"{root}/meta/info.json: 'data_path' is not a pattern of files: {error}"
        ) from None
    for index, (chunk, number) in places.items():
        try:
            path = root / template.format(chunk_index=chunk, file_index=number)
        except (ValueError, LookupError, AttributeError) as error:
            raise SourceError(
                f"{root}/meta/info.json: 'data_path' must be a path with chunk_index and "
                f"file_index, got {template!r} ({error})."
            ) from None
        if path not in files:
            raise SourceError(f"{path} is missing: episode {index} begins there.")
    _check_totals(root, info, lengths, files)
    splits = _read_splits(root, info)
    return Meta(root, info["features"], lengths, files, splits, _read_fps(root, info))


def coordinate_names(names: object, size: int) -> tuple[str, ...]:
    """The names of a feature's coordinates; empty unless there is one for each.

    LeRobot has used `["x", "y"]`, `{"motors": ["x", "y"]}`, `{"x": 0, "y": 1}` and null.
    """
    if isinstance(names, Mapping):
        entries: Mapping[str, Any] = names
        if all(isinstance(value, int) for value in entries.values()):
            names = sorted(entries, key=lambda key: entries[key])
        else:
            lists = [value for value in entries.values() if isinstance(value, list)]
            names = [name for value in lists for name in value]
    if not isinstance(names, list) or len(names) != size:
        return ()  # such as ["motors"] for seven motors: it names the axis
    return tuple(str(name) for name in names)


def _read_info(root: Path) -> Mapping[str, Any]:
    path = root / "meta" / "info.json"
    if not path.exists():
        raise SourceError(f"{root} is not a LeRobot data set: there is no {path}.")
    info = door.read_json(path, kind=SourceError)
    if not isinstance(info, dict):
        raise SourceError(f"{path}: expected a mapping, got {type(info).__name__}.")
    version = str(info.get("codebase_version", "none"))
    found = re.match(r"v?(\d+)", version)
    if found is None or int(found.group(1)) < 3:
        raise SourceError(
            f"{root} has the LeRobot format {version}; expected v3.0. "
            f"Convert it with LeRobot's own tool (from v2.1): {_CONVERT}"
        )
    if int(found.group(1)) > 3:
        raise SourceError(
            f"{root} has the LeRobot format {version}; this version of goalsets reads up to v3.0. "
            "Try a newer goalsets."
        )
    features = info.get("features")
    if not isinstance(features, dict):
        raise SourceError(f"{path}: expected an entry 'features' that describes the columns.")
    for name, feature in features.items():
        door.fit(feature, _Feature, f"{path}: feature {name!r}", kind=SourceError)
    return info


@dataclass(frozen=True)
class _Feature:
    dtype: str
    shape: tuple[Count, ...]


def _read_episodes(root: Path) -> tuple[dict[int, int], dict[int, tuple[int, int]]]:
    """The length of each episode, and the chunk and the file in which it begins."""
    require("pyarrow.parquet", "lerobot")
    lengths: dict[int, int] = {}
    places: dict[int, tuple[int, int]] = {}
    for path in sorted(
        (root / "meta" / "episodes").glob("*/*.parquet"), key=lambda p: natural(str(p))
    ):
        try:
            with open_parquet(path) as file:
                table = file.read(columns=list(_COLUMNS))
            rows = list(zip(*(table.column(name).to_pylist() for name in _COLUMNS), strict=True))
        except SourceError:
            raise
        except DAMAGE as error:
            raise SourceError(
                f"{path} cannot be read: expected the columns {', '.join(_COLUMNS)} ({error})."
            ) from None
        for index, length, chunk, number in rows:
            if not all(type(n) is int and 0 <= n < 1 << 40 for n in (index, length, chunk, number)):
                raise SourceError(
                    f"{path}: expected whole numbers of 0 or more for {', '.join(_COLUMNS)}, got "
                    f"{(index, length, chunk, number)}."
                )
            if index in lengths:
                raise SourceError(f"{path}: episode {index} is listed twice.")
            lengths[index] = length
            places[index] = (chunk, number)
    if not lengths:
        raise SourceError(f"{root / 'meta' / 'episodes'} lists no episodes.")
    return lengths, places


def _check_totals(
    root: Path, info: Mapping[str, Any], lengths: Mapping[int, int], files: Sequence[Path]
) -> None:
    """Compare the numbers of episodes and frames with the description, before reading frames."""
    if info.get("total_episodes", len(lengths)) != len(lengths):
        raise SourceError(
            f"{root}: meta/episodes lists {len(lengths)} episodes; expected "
            f"{info['total_episodes']}, as meta/info.json says."
        )
    rows = 0
    for path in files:
        try:
            with open_parquet(path) as file:
                rows += file.metadata.num_rows
        except SourceError:
            raise
        except DAMAGE as error:
            raise SourceError(
                f"{path} is not a Parquet file, or only a part of one: {error}"
            ) from None
    if rows != sum(lengths.values()):
        raise SourceError(
            f"{root}: the data files hold {rows} frames; expected {sum(lengths.values())}, the sum "
            "of the lengths in meta/episodes."
        )


def _read_fps(root: Path, info: Mapping[str, Any]) -> float | None:
    fps = info.get("fps")
    if fps is None:
        return None
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not 0 < fps < 1e9:
        raise SourceError(f"{root}/meta/info.json: 'fps' must be a number above 0, got {fps!r}.")
    return float(fps)


def _read_splits(root: Path, info: Mapping[str, Any]) -> dict[str, range]:
    splits: dict[str, range] = {}
    told = info.get("splits") or {}
    if not isinstance(told, dict):
        raise SourceError(f"{root}/meta/info.json: 'splits' must be a mapping, got {told!r}.")
    for name, text in told.items():
        found = re.fullmatch(r"([0-9]{1,12}):([0-9]{1,12})", str(text))
        if found is None:
            raise SourceError(
                f"{root}/meta/info.json: split {name!r} must look like '0:50', got {text!r}."
            )
        splits[name] = range(int(found.group(1)), int(found.group(2)))
    return splits
