"""A file's digest, stored inside the file: a flipped bit raises an error.

A sealed file holds a *mark* followed by 32 hexadecimal digits: the XXH3 digest of the file with
zeros in place of these digits. So the digest covers every byte of an exported policy. In a
safetensors file it covers the header, which holds a digest of each tensor. This works for any
format that can hold a piece of text. XXH3 is not a signature: whoever changes a file can compute
the digest again. XXH3 was chosen because it is almost as fast as reading memory. CRC-32 takes
several times as long, and a cryptographic digest twenty times, which is longer than loading a
policy.
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
"""The text that a file must contain before `seal` can fill in its digest."""

Buffer = bytes | memoryview

_PACKAGE = Path(__file__).parents[2]
_LOGGER = logging.getLogger("goalsets.files")


def seal(data: bytes) -> bytes:
    """Fill in the digest of a file that contains `OPEN_SEAL` once."""
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
        text: The text in the place of the seal; None if the file has none. Older versions wrote
            no seal: their files are read with a note.
        path: The file, for messages.
        kind: The error to raise.
    """
    if text is None:
        if _near_an_end(data, MARK) >= 0:
            raise kind(f"{path} is damaged: its digest is in the wrong place.")
        if not path.is_relative_to(_PACKAGE):  # the installer has checked the package's own files
            _note(path)
        return
    written = text.encode("utf-8", "replace")
    place = _find(data, written)
    if len(written) != len(OPEN_SEAL) or not written.startswith(MARK) or place < 0:
        raise kind(f"{path} is damaged: expected a digest {MARK.decode()}…, got {text[:40]!r}.")
    found = _digest(data, place + len(MARK))
    if found != written[len(MARK) :]:
        raise damaged(path, found.decode(), written[len(MARK) :].decode(), kind)


def digest(data: Buffer) -> str:
    """The digest of a part of a file that has its own, such as a tensor."""
    return xxhash.xxh3_128(data).hexdigest()


def damaged(
    path: Path, found: str, written: str, kind: type[GoalsetsError], part: str = ""
) -> GoalsetsError:
    """The error for a file, or a part of it, that does not have its digest."""
    where = f" in {part!r}" if part else ""
    return kind(
        f"{path} is damaged: its content{where} is not what was written (digest {found}, expected "
        f"{written}). Download or write it again."
    )


@functools.lru_cache(maxsize=1024)  # so that each file gets one note
def _note(path: Path) -> None:
    _LOGGER.warning(
        "note: %s has no digest, like files of older versions: damage cannot be detected.",
        path,
    )


def _find(data: Buffer, written: bytes) -> int:
    """The seal's position: near one of the ends, unless a header is very long."""
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
