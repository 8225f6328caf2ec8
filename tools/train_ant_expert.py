"""Train the ant that collects AntMaze data, and export it: `python tools/train_ant_expert.py`.

The ant learns to walk in a direction that changes every 100 steps, by soft actor-critic in
OGBench's own `online-ant-v0` under its direction wrapper. The settings are those of OGBench's
expert, except two that save time: half as many gradient steps, and three times the learning rate.
Run it again to continue after a stop. It needs the extra `experts`.

It writes `model.zip` and `replay.npz`, to continue from, and `curve.csv` into --directory. The
export is the actor's mean as safetensors, with the curve beside it.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goalsets.collect.experts import DIRECTORY, Expert, read_expert, write_expert

if TYPE_CHECKING:
    import gymnasium
    from stable_baselines3 import SAC
    from stable_baselines3.common.buffers import ReplayBuffer

STEPS = 200_000
HIDDEN = (256, 256)
SAMPLING_STEPS = 10_000
"""Random actions before the first gradient step."""
TRAIN_FREQ = 2
"""Steps of the environment for each gradient step; the gradient step takes the time."""
DIRECTION_STEPS = 100
CURVE = ("steps", "seconds", "metres_per_second", "falls")
EVALUATION = (8, 200)
"""Episodes, and steps of each, in which the mean action is judged."""
SECONDS_PER_STEP = 0.1
ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


def make_env(seed: int) -> gymnasium.Env:
    """The ant's environment: an observation is 27 numbers of its state, then the direction."""
    import gymnasium
    import ogbench.online_locomotion  # noqa: F401 - importing it registers its environments
    from ogbench.online_locomotion.wrappers import GymXYWrapper

    env = GymXYWrapper(gymnasium.make("online-ant-v0"), resample_interval=DIRECTION_STEPS)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    return env


def make_model(env: gymnasium.Env, args: argparse.Namespace) -> SAC:
    """Soft actor-critic, nearly with the settings of OGBench's expert."""
    from stable_baselines3 import SAC

    return SAC(
        "MlpPolicy",
        env,
        learning_rate=args.learning_rate,
        # A checkpoint keeps this size, so even a short first training needs room to continue.
        buffer_size=max(args.steps, STEPS),
        learning_starts=min(SAMPLING_STEPS, args.steps // 2),
        batch_size=256,
        train_freq=TRAIN_FREQ,
        gradient_steps=1,
        tau=0.005,
        gamma=0.99,
        # Half of one nat for each dimension of the action.
        target_entropy=-env.action_space.shape[0] / 2,
        policy_kwargs={"net_arch": list(HIDDEN)},
        seed=args.seed,
        device="cpu",
    )


def resume_or_begin(env: gymnasium.Env, args: argparse.Namespace) -> SAC:
    """Continue from a checkpoint, if there is one; the result is not exactly repeatable."""
    from stable_baselines3 import SAC

    path = args.directory / "model.zip"
    if not path.exists():
        return make_model(env, args)
    model = SAC.load(path, env=env, device="cpu")
    model.set_random_seed(args.seed + model.num_timesteps)
    _read_replay(args.directory / "replay.npz", model.replay_buffer)
    print(f"continuing after {model.num_timesteps:,} steps")
    return model


def save(model: SAC, directory: Path) -> None:
    """Write the checkpoint: the replay buffer first, because the model marks it as complete."""
    buffer = model.replay_buffer
    size = buffer.size()
    arrays = {name: getattr(buffer, name)[:size] for name in ARRAYS}
    _replace(
        directory / "replay.npz",
        lambda path: np.savez(path, pos=buffer.pos, full=buffer.full, **arrays),
    )
    _replace(directory / "model.zip", model.save)


def _read_replay(path: Path, buffer: ReplayBuffer) -> None:
    with np.load(path) as arrays:
        for name in ARRAYS:
            stored = arrays[name]
            getattr(buffer, name)[: len(stored)] = stored
        buffer.pos, buffer.full = int(arrays["pos"]), bool(arrays["full"])


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    # The suffix stays last; otherwise the libraries would add their own.
    temporary = path.with_name(f"new-{path.name}")
    write(temporary)
    temporary.replace(path)


def export_actor(model: SAC) -> Expert:
    """The mean of the actor as plain layers."""
    layers = []
    for module in (*model.actor.latent_pi, model.actor.mu):
        if hasattr(module, "weight"):
            weight, bias = module.weight.detach().numpy(), module.bias.detach().numpy()
            layers.append((weight.copy(), bias.copy()))
    return Expert(layers)


def evaluate(expert: Expert, seed: int) -> tuple[float, float]:
    """Speed along the direction, in metres a second, and the share of episodes with a fall."""
    state = np.random.get_state()  # noqa: NPY002 - the wrapper draws directions from here
    np.random.seed(seed)  # noqa: NPY002
    env = make_env(seed)
    episodes, steps = EVALUATION
    progress, falls = [], 0
    for _ in range(episodes):
        observation, _ = env.reset()
        for _ in range(steps):
            # The wrapper leaves the position out; the expert ignores these two coordinates.
            padded = np.concatenate(([0.0, 0.0], observation[:-2]))
            action = expert.act(padded, observation[-2:])
            observation, reward, fell, _, _ = env.step(action)
            progress.append(reward)
            if fell:
                falls += 1
                break
    np.random.set_state(state)  # noqa: NPY002
    return float(np.mean(progress)) / SECONDS_PER_STEP, falls / episodes


def check_export(model: SAC, path: Path) -> None:
    """The exported actor does what Stable-Baselines3's does."""
    expert = read_expert(path)
    rng = np.random.default_rng(0)
    states = rng.normal(size=(64, expert.inputs)).astype(np.float32)
    theirs, _ = model.predict(states, deterministic=True)
    ours = [expert.act(np.concatenate(([0.0, 0.0], s[:-2])), s[-2:]) for s in states]
    np.testing.assert_allclose(np.stack(ours), theirs, atol=1e-5)


def train(args: argparse.Namespace) -> None:
    """Train in intervals; after each, add a row to the curve and save everything."""
    args.directory.mkdir(parents=True, exist_ok=True)
    np.random.seed(args.seed)  # noqa: NPY002 - the wrapper draws directions from here
    model = resume_or_begin(make_env(args.seed), args)
    rows = _read_curve(args.directory / "curve.csv", model.num_timesteps)
    before = float(rows[-1]["seconds"]) if rows else 0.0
    start = time.monotonic()
    while model.num_timesteps < args.steps:
        stretch = min(args.interval, args.steps - model.num_timesteps)
        model.learn(stretch, reset_num_timesteps=False, log_interval=None)
        expert = export_actor(model)
        speed, falls = evaluate(expert, args.seed)
        values = (
            str(model.num_timesteps),
            f"{before + time.monotonic() - start:.0f}",
            f"{speed:.4f}",
            f"{falls:.3f}",
        )
        rows.append(dict(zip(CURVE, values, strict=True)))
        save(model, args.directory)
        _write_curve(args.directory / "curve.csv", rows)
        print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    about = {"environment": "online-ant-v0", "steps": str(model.num_timesteps), **_versions()}
    args.export.parent.mkdir(parents=True, exist_ok=True)
    write_expert(args.export, export_actor(model), about)
    check_export(model, args.export)
    shutil.copyfile(args.directory / "curve.csv", args.export.with_suffix(".csv"))
    print(f"exported {args.export}, {args.export.stat().st_size:,} bytes")


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("stable-baselines3", "torch", "ogbench", "mujoco")}


def _read_curve(path: Path, steps: int) -> list[dict[str, str]]:
    """The rows so far, without those after the checkpoint, whose training was lost."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [row for row in csv.DictReader(file) if int(row["steps"]) <= steps]


def _write_curve(path: Path, rows: list[dict[str, str]]) -> None:
    def write(temporary: Path) -> None:
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, CURVE, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    _replace(path, write)


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=STEPS, help="environment steps in all")
    parser.add_argument("--interval", type=int, default=10_000, help="steps between savings")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learning-rate", type=float, default=3e-4, help="of a new training")
    parser.add_argument("--threads", type=int, default=2, help="of torch")
    parser.add_argument("--directory", type=Path, default=Path("runs/ant-expert"))
    parser.add_argument("--export", type=Path, default=DIRECTORY / "ant.safetensors")
    args = parser.parse_args()
    try:
        import stable_baselines3  # noqa: F401
        import torch
    except ImportError as error:
        raise SystemExit(
            f"{error}. Install what training needs: pip install -e '.[experts]'"
        ) from None
    torch.set_num_threads(args.threads)
    train(args)


if __name__ == "__main__":
    main()
