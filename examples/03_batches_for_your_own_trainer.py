"""Relabeled batches for a trainer of your own, with NumPy alone.

The trainer here is very small. The action is a linear function of random features of the
observation and the goal, fitted by least squares to the log's actions on the way to each goal.
The trainer has no code for queries, because goals contain them. One fit answers both questions.

    python examples/03_batches_for_your_own_trainer.py
"""

import numpy as np

from goalsets import GoalSet, Query, RelabeledData, Trajectories
from goalsets.envs.episode_queries import Listed
from goalsets.envs.tabletop import (
    Streams,
    official_tasks,
    record_play,
    start_tasks,
    tabletop_layout,
)

QUESTIONS = ("eff_pos", "eff_yaw")
FEATURES, BATCHES, EPISODES = 1_500, 60, 100

layout = tabletop_layout(num_blocks=1)
log = record_play(num_episodes=400, episode_length=100, seed=0)
data = RelabeledData.from_trajectories(
    Trajectories.from_episodes(list(log.episodes())),
    layout,
    queries=Listed(QUESTIONS),
    horizon=20,
    standardised=True,
)
print({name: array.shape for name, array in data.sample(256).items()})

rng = np.random.default_rng(0)
mixing = rng.normal(0, 0.25, (3 * layout.dim, FEATURES))
phase = rng.uniform(0, 2 * np.pi, FEATURES)


def features(observations, goals):
    return np.cos(np.concatenate((observations, goals), axis=-1) @ mixing + phase)


products, targets = 10.0 * np.eye(FEATURES), 0.0
for _ in range(BATCHES):
    batch = data.sample(1024)
    x = features(batch["observations"], batch["actor_goals"])
    products, targets = products + x.T @ x, targets + x.T @ batch["actions"]
weights = np.linalg.solve(products, targets)

states = record_play(num_episodes=EPISODES, episode_length=60, seed=1).observations
starts = [official_tasks(1)[i % 5] for i in range(EPISODES)]
for text in QUESTIONS:
    query = Query.parse(text, layout)
    goals = GoalSet(states[:, 30], query)
    world, _ = start_tasks(starts, Streams.from_seeds([(7, i) for i in range(EPISODES)]))
    asked = data.goal(states[:, 30], query)
    reached = goals.contains(world.observe())
    already = reached.mean()
    for _ in range(100):
        x = features(data.observation(world.observe()), asked)
        reached |= goals.contains(world.step(data.action(x @ weights)))
    print(f"{text:8} reached {reached.mean():4.0%} of {EPISODES} goals, {already:.0%} at the start")
