"""Soft actor-critic with Stable-Baselines3: one policy, two questions, no data.

`GoalSetEnv` asks one of the two questions in each episode, with a goal from a log.
`GoalSetReplayBuffer` relabels each transition with a state that was reached and with a new
question. Slow: about a minute on one core. Needs `pip install "goalsets[sb3]"`.

    python examples/05_train_with_stable_baselines3.py                  # redraws the query, too
    python examples/05_train_with_stable_baselines3.py --buffer plain   # Stable-Baselines3's own
"""

from __future__ import annotations

import argparse
import functools
import time

import torch
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.vec_env import DummyVecEnv

from goalsets import make_goalset_env
from goalsets.envs.tabletop import record_play
from goalsets.evaluate.stats import Rate
from goalsets.interop.sb3 import GoalSetReplayBuffer

TASK = "tabletop-single-v0"
BUFFERS = {"goal-set": GoalSetReplayBuffer, "plain": HerReplayBuffer}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--buffer", choices=BUFFERS, default="goal-set")
    parser.add_argument("--queries", nargs="+", default=["eff_pos", "eff_yaw"])
    parser.add_argument("--steps", type=int, default=8_000, help="of the environment")
    parser.add_argument("--episodes", type=int, default=100, help="of the evaluation of each query")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)

    make = functools.partial(
        make_goalset_env,
        TASK,
        queries=args.queries,
        goals=states_of_a_log(seed=0),
        # The plain buffer keeps recorded ends when it relabels, so no episode may end early.
        terminate=args.buffer == "goal-set",
    )
    model = SAC(
        "MultiInputPolicy",
        DummyVecEnv([make] * 4),
        replay_buffer_class=BUFFERS[args.buffer],
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
        learning_starts=1_000,
        learning_rate=1e-3,
        batch_size=256,
        gamma=0.95,
        tau=0.02,
        train_freq=1,
        gradient_steps=2,
        policy_kwargs={"net_arch": [128, 128]},
        buffer_size=100_000,
        seed=args.seed,
    )
    start = time.perf_counter()
    model.learn(args.steps, progress_bar=False)
    print(f"{args.steps:,} steps in {time.perf_counter() - start:.0f} s")
    for query in args.queries:
        print(f"{query:12} {evaluate(model, query, args.episodes)}, {args.episodes} episodes")


def states_of_a_log(seed):
    """States that serve as goals only: the policy never sees an action of the log."""
    return record_play(num_episodes=50, episode_length=100, seed=seed).observations.reshape(-1, 18)


def evaluate(model, query, episodes):
    """Success on goals of another log, none of them reached at the start."""
    env = make_goalset_env(TASK, queries=query, goals=states_of_a_log(seed=1_000))
    outcomes = []
    for episode in range(episodes):
        observation, info = env.reset(seed=1_000_000 + episode)
        ended = info["success"]
        while not ended:
            action, _ = model.predict(observation, deterministic=True)
            observation, _, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
        outcomes.append(info["success"])
    return Rate.of(outcomes)


if __name__ == "__main__":
    main()
