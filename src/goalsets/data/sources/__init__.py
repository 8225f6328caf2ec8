"""Sources of data by name. A source imports its libraries only when it is used."""

from goalsets.core.extras import MissingExtraError
from goalsets.core.registry import import_modules
from goalsets.data.sources.base import (
    SOURCES,
    Notices,
    Source,
    SourceError,
    Split,
    default_store_name,
    known_action_space,
    known_layout,
    known_rate,
)
from goalsets.data.sources.csv import Csv
from goalsets.data.sources.hdf5 import Hdf5
from goalsets.data.sources.lerobot import LeRobot
from goalsets.data.sources.minari import Minari
from goalsets.data.sources.npz import Npz
from goalsets.data.sources.ogbench import OGBench
from goalsets.data.sources.parquet import Parquet
from goalsets.data.sources.ros import Ros

import_modules(__name__)

__all__ = [
    "SOURCES",
    "Csv",
    "Hdf5",
    "LeRobot",
    "Minari",
    "MissingExtraError",
    "Notices",
    "Npz",
    "OGBench",
    "Parquet",
    "Ros",
    "Source",
    "SourceError",
    "Split",
    "default_store_name",
    "known_action_space",
    "known_layout",
    "known_rate",
]
