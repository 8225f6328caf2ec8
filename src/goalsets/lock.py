"""One writer: a lock on a directory that its holder's death lets go, and that says who holds it.

The lock is the system's, on a file that the holder keeps open: when its process ends, however it
ends, the lock is gone. In the file stands who holds it, for people. A holder that ends in order
removes the file; one that was killed leaves it, and nobody minds. Readers take no lock.

Locks work on local file systems and over NFS. Where a file system has none, what stands in the
file must do: a writer of this machine whose process lives is believed, any other is not.
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
from typing import IO

from goalsets.core import GoalsetsError
from goalsets.core.door import read_json

_LONGEST = 300
"""Characters of a command that are told."""
_TAKEN = (errno.EWOULDBLOCK, errno.EACCES)


class InUseError(GoalsetsError):
    """Somebody else is writing there; the message says who."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock."""

    pid: int
    host: str
    since: str
    """By the clock on the wall, of that machine."""
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
        """Speak of it."""
        return f"process {self.pid} on {self.host} since {self.since} ({self.command})"


@dataclass
class _Held:
    """A lock of this process."""

    thread: int
    file: IO[bytes]
    """Open: closing it lets the lock go."""
    times: int = 1
    """How often the thread has taken it."""


_held: dict[str, _Held] = {}
"""The locks of this process, by path."""
_changing = threading.Lock()


class Lock:
    """The right to write, as a context manager.

    Args:
        path: The file that is locked. Its directory is made, and removed at the end if it is empty.
        doing: What the holder does, for the message: "train in runs/a".
        advice: What somebody can do who is told that another holds it.
        again: Whether a thread that has it may take it again, as a worker of a sweep does that has
            claimed a run and then trains it.
    """

    def __init__(
        self,
        path: Path,
        doing: str,
        advice: str = "Wait until it ends, or choose another --output.",
        *,
        again: bool = False,
    ) -> None:
        """Take nothing yet."""
        self.path = path
        self._doing, self._advice, self._again = doing, advice, again
        self._key = str(path.absolute())

    def __enter__(self) -> Lock:
        """Take it, or raise at once an error that says who has it."""
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
        """Let it go."""
        self.release()

    def take(self) -> bool:
        """Take it, or return False at once if another thread or process has it."""
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
        """Let it go as often as it was taken; the last time it is free."""
        with _changing:
            held = _held[self._key]
            held.times -= 1
            if held.times:
                return
            del _held[self._key]
            # The name goes before the lock: whoever opened it meanwhile sees that, and opens anew.
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
            except FileNotFoundError:  # the last holder has removed the directory this moment
                continue
            if not self._is_ours(file):
                file.close()
                return None
            if _is_named(self.path, file):
                break
            file.close()
        with contextlib.suppress(OSError):  # a full disk: the lock holds, but does not say whose
            file.truncate(0)
            file.write(json.dumps(asdict(Holder.me())).encode())
        return file

    def _is_ours(self, file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            # A file system without locks.
            found = read_holder(self.path)
            return found is None or found.host != platform.node() or not _lives(found.pid)
        return True


def read_holder(path: Path) -> Holder | None:
    """Who holds a lock, or held it when it was killed; None where nothing tells."""
    try:
        plain = read_json(path)
        return Holder(
            int(plain["pid"]), str(plain["host"]), str(plain["since"]), str(plain["command"])
        )
    except (GoalsetsError, ValueError, KeyError, TypeError):
        return None


def _is_named(path: Path, file: IO[bytes]) -> bool:
    """Whether an open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return pid != os.getpid()
