"""The door: everything that is read from a file passes here.

Files come from strangers, and from disks that fail. So each kind of file is read by one function:
regular files only, bounded in size and depth, nothing executed, no memory taken before it is clear
how much; and an error that names the file, the place, what was expected and what came. A test sees
to it that nobody reads JSON, YAML, NumPy's files, HDF5 or safetensors past it.

Libraries that not everybody has are imported by the module that needs them: `hdf5`, `tensors`.
"""

from goalsets.core.door.archive import Archive
from goalsets.core.door.arrays import read_array
from goalsets.core.door.files import check_regular, open_file, read_bytes, read_text
from goalsets.core.door.fit import fit
from goalsets.core.door.seal import check_seal, seal
from goalsets.core.door.text import (
    parse_json,
    parse_yaml,
    read_csv,
    read_json,
    read_json_lines,
    read_yaml,
)

__all__ = [
    "Archive",
    "check_regular",
    "check_seal",
    "fit",
    "open_file",
    "parse_json",
    "parse_yaml",
    "read_array",
    "read_bytes",
    "read_csv",
    "read_json",
    "read_json_lines",
    "read_text",
    "read_yaml",
    "seal",
]
