"""Nodes without a shared disk: copy runs back to the driver, and copy data once to the node.

The *head* runs beside the driver and reads and writes its files. A node works in its own scratch
directory. It starts with the head's copy of a run, and sends new files at every update of the
status, the checkpoint last. So the head's copy can always be resumed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from goalsets.data.store import INDEX, Store
from goalsets.runs.run import LOCK
from goalsets.runs.weights import CHECKPOINT
from goalsets.sweep.grid import Job
from goalsets.sweep.state import STATUS, ClaimLostError

SLICE = 16 << 20
"""Bytes to send at a time."""
SCRATCH = "GOALSETS_SCRATCH"
_LATE = (CHECKPOINT, STATUS)
"""Files that are sent last, because they say how far the others are."""


class Head:
    """Reads and writes files beside the driver. It runs as a Ray actor, one call at a time.

    Args:
        runs: The directory of all runs.
    """

    def __init__(self, runs: Path) -> None:
        """Begin without owners."""
        self._runs = runs
        self._owners: dict[str, str] = {}

    def take(self, name: str, owner: str) -> list[tuple[str, int]]:
        """Give a run to the last node that asks; return its files and their sizes."""
        self._owners[name] = owner
        return self.list(self._runs / name)

    def list(self, directory: Path) -> list[tuple[str, int]]:
        """The files of a directory and their sizes."""
        files = [path for path in sorted(directory.rglob("*")) if path.is_file()]
        return [
            (str(path.relative_to(directory)), path.stat().st_size)
            for path in files
            if path.name != LOCK and path.suffix != ".tmp"
        ]

    def read_run(self, name: str, file: str, offset: int) -> bytes:
        """A slice of a file of a run."""
        return self.read(self._runs / name / file, offset)

    def read(self, path: Path, offset: int) -> bytes:
        """A slice of a file."""
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(SLICE)

    def write(self, name: str, owner: str, file: str, content: bytes, *, more: bool) -> None:
        """Append a slice to a temporary file; after the last slice, move it to its place.

        Raises:
            ClaimLostError: The run was given to another node.
        """
        if self._owners.get(name) != owner:
            raise ClaimLostError(f"{name} was given to another node.")
        path = self._runs / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{owner[:8]}.tmp")
        with part.open("ab") as out:
            out.write(content)
        if not more:
            part.replace(path)


class CollectedPlace:
    """A node's scratch directory, and its connection to the head.

    Args:
        head: The actor of a `Head`.
        node: The node's name; it is part of the path, because nodes may share a disk.
    """

    def __init__(self, head: Any, node: str) -> None:  # noqa: ANN401 - a handle of an actor
        """Copy nothing yet."""
        import ray

        self._get = ray.get
        self._head = head
        self._scratch = scratch_directory() / node[:12]
        self._owner = os.urandom(8).hex()
        self._brought: dict[str, dict[str, tuple[int, int]]] = {}

    def open_run(self, runs: Path, job: Job) -> Path:
        """A fresh copy of the head's files of the run."""
        directory = self._directory(job)
        # Files of an earlier attempt may be older than the head's, which can always be resumed.
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        for file, size in self._get(self._head.take.remote(job.name, self._owner)):
            self._fetch(directory / file, size, lambda at, f=file: self._read_run(job.name, f, at))
        self._brought[job.name] = _states(directory)
        return directory

    def synchronise(self, job: Job) -> None:
        """Send changed files to the head."""
        directory, brought = self._directory(job), self._brought[job.name]
        changed = {f: s for f, s in _states(directory).items() if brought.get(f) != s}
        for file in sorted(changed, key=lambda f: (f in _LATE, f == STATUS, f)):
            self._bring(job.name, directory, file)
            brought[file] = changed[file]

    def close_run(self, job: Job) -> None:
        """Remove the copy: the head has everything."""
        self.synchronise(job)
        shutil.rmtree(self._directory(job), ignore_errors=True)

    def data(self, path: Path, fingerprint: str) -> Path:
        """The store: at the same path if it exists there, otherwise a copy for this node."""
        return path if _is_store(path, fingerprint) else self.copy_of_data(path, fingerprint)

    def copy_of_data(self, path: Path, fingerprint: str) -> Path:
        """This node's own copy of the store."""
        copy = self._scratch / "data" / fingerprint
        copy.parent.mkdir(parents=True, exist_ok=True)
        with copy.with_suffix(".lock").open("a") as file:
            # Runs of this node that begin together wait for the first to copy.
            with contextlib.suppress(OSError):  # a file system without locks: each copies it
                fcntl.flock(file, fcntl.LOCK_EX)
            if not _is_store(copy, fingerprint):
                shutil.rmtree(copy, ignore_errors=True)
                self._copy_store(path, copy)
        return copy

    def file(self, path: Path) -> Path:
        """A copy of a file of the sweep, such as a suite."""
        copy = self._scratch / "files" / path.name
        size = dict(self._get(self._head.list.remote(path.parent)))[path.name]
        self._fetch(copy, size, lambda at: self._read(path, at))
        return copy

    def _directory(self, job: Job) -> Path:
        return self._scratch / "runs" / job.name

    def _copy_store(self, path: Path, copy: Path) -> None:
        files = self._get(self._head.list.remote(path))
        # The index comes last, because a directory with an index counts as a store.
        for file, size in sorted(files, key=lambda entry: entry[0] == INDEX):
            self._fetch(copy / file, size, lambda at, f=file: self._read(path / f, at))

    def _read_run(self, name: str, file: str, offset: int) -> bytes:
        return self._get(self._head.read_run.remote(name, file, offset))

    def _read(self, path: Path, offset: int) -> bytes:
        return self._get(self._head.read.remote(path, offset))

    def _fetch(self, path: Path, size: int, read: Any) -> None:  # noqa: ANN401 - a function
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        with part.open("wb") as file:
            while file.tell() < size:
                content = read(file.tell())
                if not content:
                    break
                file.write(content)
        part.replace(path)

    def _bring(self, name: str, directory: Path, file: str) -> None:
        with (directory / file).open("rb") as source:
            content = source.read(SLICE)
            while True:
                following = source.read(SLICE)
                self._write(name, file, content, more=bool(following))
                if not following:
                    return
                content = following

    def _write(self, name: str, file: str, content: bytes, *, more: bool) -> None:
        from ray.exceptions import RayTaskError

        try:
            self._get(self._head.write.remote(name, self._owner, file, content, more=more))
        except RayTaskError as error:
            if isinstance(error.cause, ClaimLostError):
                raise ClaimLostError(str(error.cause)) from None
            raise


def scratch_directory() -> Path:
    """The scratch directory of nodes: `GOALSETS_SCRATCH`, or one for temporary files."""
    named = os.environ.get(SCRATCH)
    return Path(named) if named else Path(tempfile.gettempdir()) / f"goalsets-{os.getuid()}"


def _states(directory: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of each file to send."""
    found: dict[str, tuple[int, int]] = {}
    for path in directory.rglob("*"):
        passing = path.name == LOCK or path.suffix == ".tmp" or path.name.startswith(".")
        if path.is_file() and not passing:
            about = path.stat()
            found[str(path.relative_to(directory))] = (about.st_size, about.st_mtime_ns)
    return found


def _is_store(path: Path, fingerprint: str) -> bool:
    if not (path / INDEX).exists():
        return False
    return Store.open(path, mapped=True).fingerprint == fingerprint
