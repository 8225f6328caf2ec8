"""The `ogbench` source: OGBench's data sets by name, from disk, its host or its mirror.

Each data set is two NumPy archives, `<name>.npz` and `<name>-val.npz`, with one row for each state.
The action in the last row of an episode only fills the row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode, StateLayout
from goalsets.core.door import Archive
from goalsets.data.flatten import FieldSpec
from goalsets.data.sources.base import SOURCES, Notices, SourceError, Split, check_split
from goalsets.data.sources.download import Downloader, DownloadError
from goalsets.data.sources.npz import Npz

# These equal the constants of ogbench.utils, which imports slowly and does not install on every
# version of Python.
DATASET_URL = "https://rail.eecs.berkeley.edu/datasets/ogbench"
OGBENCH_DIR = Path("~/.ogbench/data")
MIRROR_REPOSITORY = "zhouzypaul/ogbench_datasets"
"""A copy on the Hugging Face hub, for the long outages of OGBench's host (ogbench issue 49)."""
EXTRAS = ("qpos", "qvel", "button_states")


def mirror_url() -> str:
    """The mirror's base address. HF_ENDPOINT selects another hub, as for all tools of the hub."""
    hub = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
    return f"{hub}/datasets/{MIRROR_REPOSITORY}/resolve/main"


@SOURCES.register("ogbench")
@dataclass(frozen=True)
class OGBench:
    """An OGBench data set by name, such as `cube-single-play-v0`."""

    name: str
    """The data set."""
    directory: Path | None = None
    """The directory of its files; by default goalsets' own data directory."""
    offline: bool = False
    """Never download."""
    extras: tuple[str, ...] = EXTRAS
    """Further values to keep for each state, if the data set has them."""
    base_urls: tuple[str, ...] = ()
    """Addresses to download from, tried in order; by default OGBench's host, then its mirror."""
    downloader: Downloader = field(default_factory=Downloader)
    """How to download."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the name, which becomes part of paths and addresses."""
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", self.name):
            raise SourceError(
                f"{self.name!r} cannot be the name of an OGBench data set: expected a name such as "
                "cube-single-play-v0."
            )
        if self.name.startswith(("visual-", "powderworld-")):
            raise SourceError(f"{self.name!r} holds images: goalsets reads states, not images.")

    @property
    def has_validation(self) -> bool:
        """Whether there are validation episodes: always online; offline, if their file exists."""
        return not self.offline or self._find("validation") is not None

    def fields(self) -> tuple[FieldSpec, ...]:
        """One vector without names; the layout of the task names its coordinates."""
        return self._archive("train").fields()

    def known_layout(self) -> StateLayout | None:
        """The layout of the task of this name, if there is one."""
        from goalsets.envs.tasks import TASKS

        return TASKS[self.name].layout if self.name in TASKS else None

    def known_action_space(self) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """The action space of the task of this name, if there is one."""
        from goalsets.envs.tasks import TASKS

        if self.name not in TASKS:
            return None
        with Archive(self.get("train")) as archive:
            return TASKS[self.name].action_bounds(archive.shape("actions")[1])

    def describe(self) -> str:
        """Say what is being read."""
        found = self._find("train")
        return f"OGBench data set {self.name} ({found or 'to be downloaded'})"

    def episodes(self, split: Split = "train") -> Iterator[Episode]:
        """Read the episodes of a split; download them first if they are not on this machine."""
        check_split(split, self.has_validation, f"OGBench data set {self.name!r}")
        source = self._archive(split)
        yield from source.episodes(split)
        self.notices.join(source.notices)

    def get(self, split: Split = "train") -> Path:
        """Return the file of a split; download it first if it is not on this machine."""
        found = self._find(split)
        if found is not None:
            return found
        if self.offline:
            raise SourceError(
                f"{self._file(split)} is not in {self._directory}, and 'offline' forbids the "
                "download. Allow it, or collect the data on this machine: "
                f"{self._command}"
            )
        return self._download(split)

    def _archive(self, split: Split) -> Npz:
        path = self.get("train")
        validation = self.get("validation") if split == "validation" else None
        with Archive(validation or path, SourceError) as archive:
            extras = tuple(key for key in self.extras if key in archive.keys)
        return Npz(
            path, validation, ends=("terminals",), extras=extras, use_next=False, filler=True
        )

    @property
    def _directory(self) -> Path:
        if self.directory is not None:
            return self.directory
        from goalsets.data.paths import data_dir

        return data_dir()

    @property
    def _command(self) -> str:
        return f"goalsets data collect {self.name}"

    def _file(self, split: Split) -> str:
        return f"{self.name}.npz" if split == "train" else f"{self.name}-val.npz"

    def _find(self, split: Split) -> Path | None:
        """Look in our directory, then in the directory of OGBench's own downloads."""
        for directory in (self._directory, OGBENCH_DIR.expanduser()):
            path = directory / self._file(split)
            if path.is_file():
                return path
        return None

    def _download(self, split: Split) -> Path:
        target = self._directory / self._file(split)
        failures: list[str] = []
        for base in self.base_urls or (DATASET_URL, mirror_url()):
            try:
                url = f"{base.rstrip('/')}/{target.name}"
                return self.downloader.fetch(url, target, check_file)
            except DownloadError as error:
                failures.append(f"  {error}")
        unknown = all(" 404 " in failure for failure in failures)
        raise SourceError(
            "\n".join(
                [
                    f"cannot download {target.name}:",
                    *failures,
                    *([self._suggestion()] if unknown else []),
                    f"Collect the data on this machine instead: {self._command}",
                ]
            )
        )

    def _suggestion(self) -> str:
        from goalsets.envs.tasks import TASKS

        return f"No server has a data set of that name: {TASKS.suggest(self.name)}"


def check_file(path: Path) -> None:
    """Check that a file is a complete OGBench archive: its checksums, its keys, its lengths."""
    with Archive(path, SourceError) as archive:
        archive.check()
        rows = archive.shape("observations")[0]
        for key in ("actions", "terminals"):
            if archive.shape(key)[0] != rows:
                raise SourceError(
                    f"{path}: {key!r} has {archive.shape(key)[0]} rows; expected {rows}, "
                    "as 'observations' has."
                )
