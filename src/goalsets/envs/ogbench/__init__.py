"""OGBench's environments as the product needs them: one adapter for arms, one for mazes."""

from goalsets.envs.ogbench.manipulation import ManipulationAdapter
from goalsets.envs.ogbench.mazes import MazeAdapter

__all__ = ["ManipulationAdapter", "MazeAdapter"]
