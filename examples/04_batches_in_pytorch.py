"""Relabeled batches as a PyTorch data set: goal-conditioned imitation in one short file.

`RelabeledStream` works with `DataLoader` and its workers. The same seed gives the same batches in
the same order for any number of workers.

    python examples/04_batches_in_pytorch.py
"""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

from goalsets import GoalSet, Query, RelabeledData, RelabeledStream, Trajectories
from goalsets.envs.tabletop import (
    Streams,
    official_tasks,
    record_play,
    start_tasks,
    tabletop_layout,
)

STEPS, EPISODES = 1_500, 100


def main():
    torch.manual_seed(0)
    layout = tabletop_layout(num_blocks=1)
    log = record_play(num_episodes=500, episode_length=200, seed=0)
    data = RelabeledData.from_trajectories(
        Trajectories.from_episodes(list(log.episodes())),
        layout,
        queries="semantic",
        horizon=20,
        standardised=True,
    )
    stream = RelabeledStream(data, batch_size=512, seed=0, stop=STEPS)
    actor = nn.Sequential(
        *(nn.Linear(3 * layout.dim, 192), nn.GELU()),
        *(nn.Linear(192, 192), nn.GELU()),
        *(nn.Linear(192, 192), nn.GELU()),
        nn.Linear(192, 5),
    )
    optimiser = torch.optim.AdamW(actor.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, STEPS)
    for step, batch in enumerate(DataLoader(stream, batch_size=None, num_workers=1), start=1):
        inputs = torch.cat((batch["observations"], batch["actor_goals"]), dim=-1)
        loss = (actor(inputs) - batch["actions"]).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 500 == 0:
            print(f"step {step:5}  loss {loss.item():.3f}")

    references = record_play(num_episodes=EPISODES, episode_length=60, seed=1).observations[:, 30]
    for text in ("cube_pos", "eff_pos", "ee_pose"):
        query = Query.parse(text, layout)
        rate, already = ask(actor, data, references, query)
        print(f"{text:8} reached {rate:4.0%} of {EPISODES} goals, {already:.0%} at the start")


@torch.no_grad()
def ask(actor, data, references, query):
    starts = [official_tasks(1)[i % 5] for i in range(EPISODES)]
    world, _ = start_tasks(starts, Streams.from_seeds([(7, i) for i in range(EPISODES)]))
    goals, asked = GoalSet(references, query), data.goal(references, query)
    reached = goals.contains(world.observe())
    already = reached.mean()
    for _ in range(100):
        inputs = np.concatenate((data.observation(world.observe()), asked), axis=-1)
        actions = actor(torch.from_numpy(inputs)).numpy()
        reached |= goals.contains(world.step(data.action(actions)))
    return reached.mean(), already


if __name__ == "__main__":
    main()
