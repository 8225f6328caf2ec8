"""Bytes and text of files: regular files only, and no more than somebody expects."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from goalsets.core.errors import FileError, GoalsetsError

TEXT_BYTES = 32 << 20
"""Of the largest text that is read: suites with every reference in them stay far below."""
LOG_BYTES = 256 << 20
"""Of the largest log, such as `metrics.csv` of a very long run."""

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
        path: The file. A link to one will do; a pipe, a device or a directory will not.
        what: What it should be, for messages: "the layout".
        limit: The largest size that is accepted; None for any.
        kind: The error to raise.
    """
    named = f"{what} {path}".strip()
    try:
        # Opening a pipe without a writer waits for one, unless told not to.
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
    """Refuse all but regular files, for libraries that open files themselves; return the size."""
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
            # A file may grow while it is read.
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
    """Bytes as text in UTF-8; `named` says whose they are, for messages."""
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
