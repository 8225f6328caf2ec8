"""Safetensors files: checked here before the library maps them, and sealed with digests.

A file has eight bytes with the length of the header, the header in JSON, and the tensors' bytes.
The header holds a digest of itself and one of each tensor. So whoever reads some tensors, such as a
policy without its optimiser, reads and checks only these. Older files have one digest of the whole
file. The library refuses bytes that belong to no tensor.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalsets.core.door.files import open_file
from goalsets.core.door.fit import Count, fit
from goalsets.core.door.seal import OPEN_SEAL, check_seal, damaged, digest, seal
from goalsets.core.door.text import parse_json
from goalsets.core.errors import FileError, GoalsetsError

if TYPE_CHECKING:
    import numpy as np

DIGEST = "digest"
"""The name of the digest in a file's metadata: of the header, in older files of the whole file."""
DIGESTS = "digests"
"""The name of the tensors' digests in the metadata, in the order of the header."""
HEADER_BYTES = 8 << 20
_METADATA = "__metadata__"


@dataclass(frozen=True)
class Tensors:
    """The tensors of a file by name, and its metadata without the digests."""

    tensors: dict[str, Any]
    metadata: dict[str, str]


@dataclass(frozen=True)
class _Entry:
    """What the header says of a tensor, as far as it is needed here."""

    data_offsets: tuple[Count, Count]


def _every(name: str) -> bool:
    del name
    return True


def read_tensors(
    path: str | Path,
    framework: str = "np",
    *,
    wanted: Callable[[str], bool] = _every,
    what: str = "",
    kind: type[GoalsetsError] = FileError,
) -> Tensors:
    """Read tensors of a safetensors file and check their digests.

    Args:
        path: The file.
        framework: "np" for arrays, "pt" for tensors of torch.
        wanted: Whether the tensor of a name is read; by default all are.
        what: What it should be, for messages.
        kind: The error to raise.
    """
    from safetensors import SafetensorError, safe_open  # exported policies run without this library

    path = Path(path)
    with _map(path, what, kind) as data:
        metadata = check_tensors(data, path, wanted, what, kind)
    try:
        opened: Any = safe_open(path, framework=framework)  # the library's types are incomplete
        with opened as file:
            names = [str(name) for name in file.keys()]  # noqa: SIM118
            found = {name: file.get_tensor(name) for name in names if wanted(name)}
    except (OSError, SafetensorError, ValueError, TypeError, LookupError, AttributeError,
            RuntimeError, MemoryError) as error:  # fmt: skip
        raise kind(f"cannot read {f'{what} {path}'.strip()}: {error}") from None
    return Tensors(found, metadata)


def read_arrays(
    path: str | Path, *, what: str = "", kind: type[GoalsetsError] = FileError
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """All tensors as arrays, and the metadata: see `read_tensors`."""
    found = read_tensors(path, what=what, kind=kind)
    return found.tensors, found.metadata


def sealed(
    save: Callable[..., bytes], tensors: Mapping[str, Any], metadata: Mapping[str, str]
) -> bytes:
    """The bytes of a safetensors file with its digest.

    Args:
        save: `safetensors.torch.save` or `safetensors.numpy.save`.
        tensors: By name.
        metadata: Further entries of the header.
    """
    data = memoryview(save(dict(tensors), metadata=dict(metadata)))
    size = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(bytes(data[8 : 8 + size]))
    header.pop(_METADATA, None)
    body = data[8 + size :]
    digests = " ".join(digest(body[slice(*entry["data_offsets"])]) for entry in header.values())
    # Sorted, and not in the library's random order: equal content gives equal files.
    about = dict(sorted({**metadata, DIGEST: OPEN_SEAL, DIGESTS: digests}.items()))
    text = json.dumps({_METADATA: about, **header}, separators=(",", ":")).encode()
    text = text.ljust(-(-len(text) // 8) * 8)  # tensors must begin at a multiple of eight
    return b"".join((seal(len(text).to_bytes(8, "little") + text), body))


def check_tensors(
    data: memoryview,
    path: Path,
    wanted: Callable[[str], bool] = _every,
    what: str = "",
    kind: type[GoalsetsError] = FileError,
) -> dict[str, str]:
    """Check the header of a file and the digests of the wanted tensors; return the metadata."""
    named = f"{what} {path}".strip()
    place = f"the header of {named}"
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(HEADER_BYTES, len(data) - 8):
        raise kind(
            f"cannot read {named}: its header should take {length:,} bytes; the file has "
            f"{len(data):,}, and up to {HEADER_BYTES:,} are read."
        )
    header: Any = parse_json(bytes(data[8 : 8 + length]), place, kind=kind)
    parts: dict[str, Any] = fit(header, dict[str, Any], place, kind=kind)
    about: Any = parts.pop(_METADATA, None) or {}
    metadata: dict[str, str] = fit(about, dict[str, str], place, kind=kind)
    sealed, digests = metadata.pop(DIGEST, None), metadata.pop(DIGESTS, None)
    if digests is None:
        check_seal(data, sealed, path, kind=kind)
        return metadata
    check_seal(data[: 8 + length], sealed, path, kind=kind)
    entries: dict[str, _Entry] = fit(parts, dict[str, _Entry], place, kind=kind)
    if len(digests.split()) != len(entries):
        raise kind(f"{path} is damaged: it needs a digest of each of its {len(entries)} tensors.")
    body = data[8 + length :]
    for (name, entry), written in zip(entries.items(), digests.split(), strict=True):
        if wanted(name) and (found := digest(body[slice(*entry.data_offsets)])) != written:
            raise damaged(path, found, written, kind, name)
    return metadata


def _map(path: Path, what: str, kind: type[GoalsetsError]) -> memoryview:
    with open_file(path, what=what, kind=kind) as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:  # such as an empty file
            named = f"{what} {path}".strip()
            raise kind(f"cannot read {named}: it is not a safetensors file ({error}).") from None
