"""Dataset sources by name. Their libraries are imported only when a source is used."""

from collections.abc import Callable

from goalsets.core import Registry
from goalsets.data.sources.base import MissingExtraError, Notices, Source, SourceError, Split
from goalsets.data.sources.hdf5 import Hdf5
from goalsets.data.sources.lerobot import LeRobot
from goalsets.data.sources.minari import Minari
from goalsets.data.sources.npz import Npz
from goalsets.data.sources.ogbench import OGBench

SOURCES: Registry[Callable[..., Source]] = Registry("dataset source")
SOURCES.add("npz", Npz)
SOURCES.add("ogbench", OGBench)
SOURCES.add("hdf5", Hdf5)
SOURCES.add("minari", Minari)
SOURCES.add("lerobot", LeRobot)

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
]
