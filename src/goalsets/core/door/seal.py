"""A file's digest, inside the file: a flipped bit is an error and not another answer.

A sealed file holds a *mark* followed by 32 hexadecimal digits, the XXH3 digest of the file with
zeros in their place. So it covers every byte, the names and sizes of tensors as much as their
values, for any format that can hold a piece of text. XXH3 is no signature: who changes a file can
compute it. It was chosen for its speed, near that of memory; CRC-32 takes several times as long,
a cryptographic digest twenty times, which would be more than loading a policy itself.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path

import xxhash

from goalsets.core.errors import FileError, GoalsetsError

MARK = b"goalsets-xxh3:"
_ZEROS = b"0" * 32
OPEN_SEAL = (MARK + _ZEROS).decode("ascii")
"""The text to put into a file that is sealed afterwards."""

Buffer = bytes | memoryview

_PACKAGE = Path(__file__).parents[2]
_LOGGER = logging.getLogger("goalsets.files")


def seal(data: bytes) -> bytes:
    """Fill in the digest of a file that has `OPEN_SEAL` in it, once."""
    place = data.rfind(MARK + _ZEROS) + len(MARK)
    if place < len(MARK):
        raise ValueError("there is no open seal in the data")
    return b"".join((data[:place], _digest(data, place), data[place + len(_ZEROS) :]))


def check_seal(
    data: Buffer,
    text: str | None,
    path: Path,
    *,
    kind: type[GoalsetsError] = FileError,
) -> None:
    """Raise an error unless the content of a file is what was written.

    Args:
        data: The file's content.
        text: What stands where the seal should be; None where there is none, as in files that
            older versions wrote. Those are read with a note.
        path: The file, for messages.
        kind: The error to raise.
    """
    if text is None:
        if _near_an_end(data, MARK) >= 0:
            raise kind(f"{path} is damaged: it has a digest, and not in its place.")
        if not path.is_relative_to(_PACKAGE):  # an installer checks what comes with goalsets
            _note(path)
        return
    written = text.encode("utf-8", "replace")
    place = _find(data, written)
    if len(written) != len(OPEN_SEAL) or not written.startswith(MARK) or place < 0:
        raise kind(f"{path} is damaged: expected a digest {MARK.decode()}…, got {text[:40]!r}.")
    found = _digest(data, place + len(MARK))
    if found != written[len(MARK) :]:
        raise kind(
            f"{path} is damaged: its content is not what was written (digest {found.decode()}, "
            f"expected {written[len(MARK) :].decode()}). Get the file again, or make it anew."
        )


@functools.lru_cache(maxsize=1024)  # once for each file
def _note(path: Path) -> None:
    _LOGGER.warning(
        "note: %s has no digest, as files of older versions: nobody can tell whether it is whole.",
        path,
    )


def _find(data: Buffer, written: bytes) -> int:
    """Where the seal stands: near one of the ends, unless a header is very long."""
    found = _near_an_end(data, written)
    return found if found >= 0 else bytes(data).find(written)


def _near_an_end(data: Buffer, written: bytes) -> int:
    for start in (0, max(0, len(data) - _NEAR)):
        found = bytes(data[start : start + _NEAR]).find(written)
        if found >= 0:
            return start + found
    return -1


_NEAR = 1 << 16


def _digest(data: Buffer, place: int) -> bytes:
    view = memoryview(data)
    state = xxhash.xxh3_128(view[:place])
    state.update(_ZEROS)
    state.update(view[place + len(_ZEROS) :])
    return state.hexdigest().encode("ascii")
