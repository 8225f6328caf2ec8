"""Bytes and text of files: regular files only, up to a size limit."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from goalsets.core.errors import FileError, GoalsetsError

TEXT_BYTES = 32 << 20
"""The largest text file that is read. Suites that hold every reference are far smaller."""
LOG_BYTES = 256 << 20
"""The largest log that is read, such as `metrics.csv` of a very long run."""

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_file(
    path: str | Path,
    *,
    what: str = "",
    limit: int | None = None,
    kind: type[GoalsetsError] = FileError,
) -> BufferedReader:
    """Open a regular file for reading.

    Args:
        path: The file, or a link to one. A pipe, a device or a directory is refused.
        what: What it should be, for messages: "the layout".
        limit: The largest size that is accepted; None for any.
        kind: The error to raise.
    """
    named = f"{what} {path}".strip()
    try:
        # Without O_NONBLOCK, opening a pipe waits for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise kind(f"cannot read {named}: {error.strerror}.") from None
    except ValueError as error:  # a name with a null byte
        raise kind(f"cannot read {named!r}: {error}.") from None
    file = os.fdopen(descriptor, "rb") if _is_regular(descriptor) else None
    if file is None:
        found = _kind_of(descriptor)
        os.close(descriptor)
        raise kind(f"cannot read {named}: expected a file, got {found}.")
    size = os.fstat(descriptor).st_size
    if limit is not None and size > limit:
        file.close()
        raise kind(
            f"cannot read {named}: it has {size:,} bytes, more than the {limit:,} that are read."
        )
    return file


def check_regular(
    path: str | Path, *, what: str = "", kind: type[GoalsetsError] = FileError
) -> int:
    """Return the size of a regular file; refuse others. For libraries that open the file."""
    with open_file(path, what=what, kind=kind) as file:
        return os.fstat(file.fileno()).st_size


def read_bytes(
    path: str | Path,
    *,
    what: str = "",
    limit: int = TEXT_BYTES,
    kind: type[GoalsetsError] = FileError,
) -> bytes:
    """The content of a file: see `open_file`."""
    with open_file(path, what=what, limit=limit, kind=kind) as file:
        try:
            # The limit holds here too: the file may grow while it is read.
            return file.read(limit)
        except OSError as error:
            raise kind(f"cannot read {f'{what} {path}'.strip()}: {error.strerror}.") from None


def read_text(
    path: str | Path,
    *,
    what: str = "",
    limit: int = TEXT_BYTES,
    kind: type[GoalsetsError] = FileError,
) -> str:
    """The text of a file in UTF-8: see `open_file`."""
    data = read_bytes(path, what=what, limit=limit, kind=kind)
    return decode(data, f"{what} {path}".strip(), kind)


def decode(data: bytes, named: str, kind: type[GoalsetsError] = FileError) -> str:
    """Bytes as text in UTF-8; `named` is the file they come from, for messages."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise kind(
            f"cannot read {named}: it is not a text file (byte {error.start} is not UTF-8)."
        ) from None


def _is_regular(descriptor: int) -> bool:
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def _kind_of(descriptor: int) -> str:
    mode = os.fstat(descriptor).st_mode
    return next((name for test, name in _KINDS if test(mode)), "something else")
