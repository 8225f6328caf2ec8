"""The tabletop as one of LeRobot's environments: the gripper is asked to go to one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig

from goalsets.envs.goalset_env import make_goalset_env
from goalsets.envs.tabletop import record_play

GOAL = record_play(1, 40, seed=5).observations[0][0]
STEPS = 30


class Seen(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Names the state as LeRobot's environments do."""

    def __init__(self) -> None:
        env = make_goalset_env(
            "tabletop-single-v0", render_mode="rgb_array", queries="eff_pos", goals=[GOAL]
        )
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Dict(
            {"agent_pos": env.observation_space["observation"]}
        )

    def observation(self, observation: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"agent_pos": observation["observation"]}


@EnvConfig.register_subclass("tabletop")
@dataclass
class TabletopConfig(EnvConfig):
    """What LeRobot's commands need to know about it."""

    gym_id = "tests/Tabletop-v0"
    features: dict[str, PolicyFeature] = field(
        default_factory=lambda: {
            "agent_pos": PolicyFeature(FeatureType.STATE, GOAL.shape),
            "action": PolicyFeature(FeatureType.ACTION, (5,)),
        }
    )
    features_map: dict[str, str] = field(
        default_factory=lambda: {"agent_pos": "observation.state", "action": "action"}
    )

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        return {}


gymnasium.register(TabletopConfig.gym_id, entry_point=Seen, max_episode_steps=STEPS)
