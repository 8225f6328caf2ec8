"""Safetensors files: checked by hand before the library maps them, and sealed with a digest.

A file is eight bytes with the length of a header, the header in JSON, and the tensors' bytes.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalsets.core.door.files import open_file
from goalsets.core.door.fit import fit
from goalsets.core.door.seal import OPEN_SEAL, check_seal, seal
from goalsets.core.door.text import parse_json
from goalsets.core.errors import FileError, GoalsetsError

if TYPE_CHECKING:
    import numpy as np

DIGEST = "digest"
"""The name of the digest in a file's metadata."""
HEADER_BYTES = 8 << 20
_METADATA = "__metadata__"


@dataclass(frozen=True)
class Tensors:
    """The tensors of a file by name, and its metadata without the digest."""

    tensors: dict[str, Any]
    metadata: dict[str, str]


def read_tensors(
    path: str | Path,
    framework: str = "np",
    *,
    what: str = "",
    kind: type[GoalsetsError] = FileError,
) -> Tensors:
    """All tensors of a safetensors file, after its digest was checked.

    Args:
        path: The file.
        framework: "np" for arrays, "pt" for tensors of torch.
        what: What it should be, for messages.
        kind: The error to raise.
    """
    from safetensors import SafetensorError, safe_open  # exported policies run without it

    path = Path(path)
    metadata = _check(path, what, kind)
    try:
        opened: Any = safe_open(path, framework=framework)  # its types are incomplete
        with opened as file:
            found = {str(name): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
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
        metadata: What else the file says.
    """
    data = save(dict(tensors), metadata={**metadata, DIGEST: OPEN_SEAL})
    # The library writes the metadata in any order; equal content shall give equal files.
    size = int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8 : 8 + size])
    header[_METADATA] = dict(sorted(header[_METADATA].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text = text.ljust(-(-len(text) // 8) * 8)  # tensors begin at a multiple of eight
    return seal(b"".join((len(text).to_bytes(8, "little"), text, data[8 + size :])))


def _check(path: Path, what: str, kind: type[GoalsetsError]) -> dict[str, str]:
    """Look at the header, compare the digest, and return the metadata."""
    named = f"{what} {path}".strip()
    with open_file(path, what=what, kind=kind) as file:
        try:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError) as error:  # such as an empty file
            raise kind(f"cannot read {named}: it is no safetensors file ({error}).") from None
    try:
        length = int.from_bytes(view[:8], "little")
        if len(view) < 8 or length > min(HEADER_BYTES, len(view) - 8):
            raise kind(
                f"cannot read {named}: its header should take {length:,} bytes; the file has "
                f"{len(view):,}, and up to {HEADER_BYTES:,} are read."
            )
        header: Any = parse_json(bytes(view[8 : 8 + length]), f"the header of {named}", kind=kind)
        place = f"the header of {named}"
        parts: dict[str, Any] = fit(header, dict[str, Any], place, kind=kind)
        metadata: dict[str, str] = fit(parts.get(_METADATA) or {}, dict[str, str], place, kind=kind)
        check_seal(view, metadata.pop(DIGEST, None), path, kind=kind)
    finally:
        view.release()
    return metadata
