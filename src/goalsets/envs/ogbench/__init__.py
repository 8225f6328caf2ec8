"""The adapters of OGBench's environments: one for manipulation, one for mazes."""

from goalsets.envs.ogbench.manipulation import ManipulationAdapter
from goalsets.envs.ogbench.mazes import MazeAdapter

__all__ = ["ManipulationAdapter", "MazeAdapter"]
