"""Dataset sources by name. Their libraries are imported only when a source is used."""

from goalsets.core.registry import import_modules
from goalsets.data.sources.base import (
    SOURCES,
    MissingExtraError,
    Notices,
    Source,
    SourceError,
    Split,
    default_store_name,
    known_layout,
)
from goalsets.data.sources.hdf5 import Hdf5
from goalsets.data.sources.lerobot import LeRobot
from goalsets.data.sources.minari import Minari
from goalsets.data.sources.npz import Npz
from goalsets.data.sources.ogbench import OGBench

import_modules(__name__)

__all__ = [
    "SOURCES",
    "Hdf5",
    "LeRobot",
    "Minari",
    "MissingExtraError",
    "Notices",
    "Npz",
    "OGBench",
    "Source",
    "SourceError",
    "Split",
    "default_store_name",
    "known_layout",
]
