"""Locks: only one process at a time writes to a directory, and others see which one.

The lock is one of the operating system, on a file that the holder keeps open. When the holder's
process ends in any way, the lock is released. The file names the holder, for people. A holder that
ends normally removes the file. A holder that is killed leaves the file, which does no harm. Readers
take no lock.

Locks work on local file systems and over NFS. If a file system has no locks, the content of the
file decides: the lock counts as taken if it names a running process of this machine.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import platform
import shlex
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Annotated

import msgspec

from goalsets.core import GoalsetsError
from goalsets.core.door import fit, read_json

_LONGEST = 300
"""The most characters of the holder's command that are stored."""
_TAKEN = (errno.EWOULDBLOCK, errno.EACCES)


class InUseError(GoalsetsError):
    """Another process writes there; the message names it."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock."""

    pid: Annotated[int, msgspec.Meta(ge=1, le=(1 << 31) - 1)]
    host: str
    since: str
    """Local time of its machine."""
    command: str

    @classmethod
    def me(cls) -> Holder:
        """This process."""
        program = Path(sys.argv[0]) if sys.argv else Path("python")
        name = program.parent.name if program.name == "__main__.py" else program.name
        command = shlex.join([name or "python", *sys.argv[1:]])
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        return cls(os.getpid(), platform.node(), since, command[:_LONGEST])

    def __str__(self) -> str:
        """Describe the holder."""
        return f"process {self.pid} on {self.host} since {self.since} ({self.command})"


@dataclass
class _Held:
    """A lock of this process."""

    thread: int
    file: IO[bytes]
    """The open file; closing it releases the lock."""
    times: int = 1
    """How often the thread has taken the lock."""


_held: dict[str, _Held] = {}
"""The locks of this process, by path."""
_changing = threading.Lock()


class Lock:
    """The right to write, as a context manager.

    Args:
        path: The file that is locked. Its directory is made, and removed at the end if it is empty.
        doing: What the holder does, for the message: "train in runs/a".
        advice: What to do if another process has the lock, for the message.
        again: Whether a thread that has the lock may take it again. A worker of a sweep needs
            this: it claims a run and then trains it.
    """

    def __init__(
        self,
        path: Path,
        doing: str,
        advice: str = "Wait until it ends, or choose another --output.",
        *,
        again: bool = False,
    ) -> None:
        """Prepare the lock; it is not taken yet."""
        self.path = path
        self._doing, self._advice, self._again = doing, advice, again
        self._key = str(path.absolute())

    def __enter__(self) -> Lock:
        """Take the lock, or immediately raise an error that names its holder."""
        try:
            taken = self.take()
        except OSError as error:
            raise GoalsetsError(f"cannot {self._doing}: {error.strerror}.") from error
        if not taken:
            found = read_holder(self.path)
            who = "another process" if found is None else str(found)
            raise InUseError(f"cannot {self._doing}: in use by {who}. {self._advice}")
        return self

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self.release()

    def take(self) -> bool:
        """Take the lock, or return False immediately if another thread or process has it."""
        me = threading.get_ident()
        with _changing:
            held = _held.get(self._key)
            if held is not None:
                ours = self._again and held.thread == me
                held.times += ours
                return ours
            file = self._open()
            if file is not None:
                _held[self._key] = _Held(me, file)
            return file is not None

    def release(self) -> None:
        """Release the lock; it is free after as many calls as it was taken."""
        with _changing:
            held = _held[self._key]
            held.times -= 1
            if held.times:
                return
            del _held[self._key]
            # Remove the name before the lock: a process that opened the file meanwhile notices
            # that, and opens a new one.
            with contextlib.suppress(OSError):
                self.path.unlink()
            held.file.close()
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()  # only if it is empty

    def _open(self) -> IO[bytes] | None:
        while True:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                file = self.path.open("a+b", buffering=0)
            except FileNotFoundError:  # the last holder has just removed the directory
                continue
            if not self._is_ours(file):
                file.close()
                return None
            if _is_named(self.path, file):
                break
            file.close()
        with contextlib.suppress(OSError):  # if the disk is full, the lock does not name its holder
            file.truncate(0)
            file.write(json.dumps(asdict(Holder.me())).encode())
        return file

    def _is_ours(self, file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            # The file system has no locks.
            found = read_holder(self.path)
            return found is None or found.host != platform.node() or not _lives(found.pid)
        return True


def read_holder(path: Path) -> Holder | None:
    """The process that holds a lock, or held it when it was killed; None if unknown."""
    try:
        return fit(read_json(path), Holder, str(path))
    except GoalsetsError:
        return None


def _is_named(path: Path, file: IO[bytes]) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it belongs to another user
        return True
    return pid != os.getpid()
