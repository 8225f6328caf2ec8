"""The door: goalsets reads every file through the functions of this package.

Files come from strangers, and from disks that fail. So one function reads each kind of file. It
reads regular files only, limits their size and depth, executes nothing, and takes no memory before
it knows how much. Its errors name the file, the place, what was expected and what came. A test
checks that no other module reads JSON, YAML, NumPy's files, HDF5 or safetensors.

Some libraries are optional. Only the modules that need them import them: `hdf5`, `tensors`.
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
