"""A task of my own, in one file: a point that is steered on a plane, its layout and its data.

Copy it, change the lines that are marked with "Yours:", and run
`goalsets train steer-v0 --plugin my_task.py`. docs/your-own-task.md explains the other parts of a
task, such as pictures and a playground.
"""

from dataclasses import dataclass

import gymnasium
import numpy as np

from goalsets import Episode, Group, StateLayout
from goalsets.envs.tasks import TASKS, Script, Task

PLACES = np.array([[0.8, 0.0], [-0.6, 0.6]])
NEAR = 0.1


class Steer(gymnasium.Env):
    """Yours: any Gymnasium environment. Here a state is place and speed; actions accelerate."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012 - as in Gymnasium
    observation_space = gymnasium.spaces.Box(-2, 2, (4,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)  # the seed decides the start
        self.aim = PLACES[(options or {}).get("task_id", 1) - 1]  # which official goal, from 1 on
        self.state = np.array([*self.np_random.uniform(-0.2, 0.2, 2), 0, 0], dtype=np.float32)
        return self.state.copy(), {"goal": np.array([*self.aim, 0, 0])}  # the goal as a full state

    def step(self, action):
        speed = 0.8 * self.state[2:] + 0.02 * np.clip(action, -1, 1)
        place = np.clip(self.state[:2] + speed, -1, 1)
        self.state = np.concatenate([place, speed]).astype(np.float32)
        reached = bool(np.linalg.norm(place - self.aim) <= NEAR)
        return self.state.copy(), float(reached), reached, False, {"success": reached}


def play(episodes, seed):
    """Yours: a script that makes data, here by steering to random places. Or import logs."""
    rng, env, recorded = np.random.default_rng(seed), Steer(), []
    for _ in range(episodes):
        states, actions = [env.reset(seed=int(rng.integers(2**31)))[0]], []
        for step in range(60):
            if step % 30 == 0:
                aim = rng.uniform(-1, 1, 2)
            wish = 2 * (aim - states[-1][:2]) - 5 * states[-1][2:] + rng.normal(0, 0.2, 2)
            actions.append(np.clip(wish, -1, 1).astype(np.float32))
            states.append(env.step(actions[-1])[0])
        recorded.append(Episode(np.stack(states), np.stack(actions)))
    return recorded


@dataclass(frozen=True)
class SteerTask(Task):
    """A task that makes its own data. If you import data, `Task` itself is enough."""

    @property
    def script(self):
        """The data that `goalsets train` makes if there is none: for training, and held out."""
        return Script("steered at random", lambda: play(200, seed=0), lambda: play(20, seed=1))


gymnasium.register("Steer-v0", entry_point=Steer, max_episode_steps=80)
LAYOUT = StateLayout(
    4,
    # Yours: names for the coordinates, and their tolerances.
    [Group("place", (0, 1), tolerance=NEAR), Group("speed", (2, 3), tolerance=0.02)],
    task="place",  # Yours: the official question
    name="steer",
)
TASKS.add(
    "steer-v0",
    SteerTask(
        "steer-v0",  # Yours: its name
        "Steer-v0",  # Yours: the environment's, as Gymnasium knows it
        LAYOUT,
        horizon=80,  # Yours: steps of an evaluation
        relabel_horizon=40,  # Yours: how many steps ahead a goal may lie
        goals=("east", "corner"),  # Yours: names of the official goals
        presets={"cpu": "small"},  # Yours: small networks for a small task; else leave it out
    ),
)
