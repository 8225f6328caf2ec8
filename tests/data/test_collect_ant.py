"""The ant that collects: its expert, what it sees, where it walks, and what is said without it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goalsets.collect import RECIPES, CollectError, Recipe, can_collect, collect, experts
from goalsets.collect.ant import AntExplore, AntNavigate, AntStitch
from goalsets.collect.behaviour import make_driver
from goalsets.collect.episode import Job, collect_episode
from goalsets.collect.experts import Expert, expert_path, read_expert, write_expert
from goalsets.collect.plan import Plan


def random_expert(inputs: int = 29, outputs: int = 8, seed: int = 0) -> Expert:
    rng = np.random.default_rng(seed)
    sizes = (inputs, 16, 16, outputs)
    return Expert(
        [
            (
                rng.normal(0, 0.3, (following, size)).astype(np.float32),
                rng.normal(0, 0.1, following).astype(np.float32),
            )
            for size, following in itertools.pairwise(sizes)
        ]
    )


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An expert in place of the one that ships: random weights."""
    monkeypatch.setattr(experts, "DIRECTORY", tmp_path)
    path = tmp_path / "ant.safetensors"
    write_expert(path, random_expert(), {"steps": "0"})
    return path


@pytest.fixture(autouse=True)
def _keep_global_generator():
    state = np.random.get_state()  # noqa: NPY002
    yield
    np.random.set_state(state)  # noqa: NPY002


def short(name: str, length: int = 40) -> Recipe:
    return replace(RECIPES[name], length=length)


def test_expert_survives_its_file(weights: Path) -> None:
    read, written = read_expert(weights), random_expert()
    state, direction = np.arange(29) / 29, (0.6, 0.8)
    np.testing.assert_array_equal(read.act(state, direction), written.act(state, direction))
    assert np.abs(read.act(100 * state, direction)).max() <= 1.0


def test_expert_is_the_mean_of_a_squashed_policy() -> None:
    import torch
    from torch import nn

    expert = random_expert()
    modules: list[nn.Module] = []
    for weight, bias in expert.layers:
        layer = nn.Linear(weight.shape[1], len(bias))
        layer.load_state_dict({"weight": torch.from_numpy(weight), "bias": torch.from_numpy(bias)})
        modules += [layer, nn.ReLU()]
    network = nn.Sequential(*modules[:-1], nn.Tanh())
    state = np.random.default_rng(1).normal(size=29).astype(np.float32)
    seen = torch.from_numpy(np.concatenate([state[2:], [1.0, 0.0]]).astype(np.float32))
    with torch.no_grad():
        theirs = network(seen).numpy()
    np.testing.assert_allclose(expert.act(state, (1.0, 0.0)), theirs, atol=1e-6)


def test_expert_does_not_see_where_it_is() -> None:
    expert, state = random_expert(), np.zeros(29)
    elsewhere = state.copy()
    elsewhere[:2] = 7.0
    np.testing.assert_array_equal(expert.act(state, (1, 0)), expert.act(elsewhere, (1, 0)))
    assert (expert.act(state, (1, 0)) != expert.act(state, (0, 1))).any()


def test_weights_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(CollectError, match="at least one layer"):
        Expert([])
    first, second = random_expert().layers[0], random_expert().layers[2]
    with pytest.raises(CollectError, match=r"layer 1 .* shape \(8, 16\), got \(8, 17\)"):
        Expert([first, (np.zeros((8, 17), np.float32), second[1])])
    with pytest.raises(CollectError, match="not finite"):
        Expert([(first[0] * np.nan, first[1])])
    (tmp_path / "x.safetensors").write_bytes(b"nothing")
    with pytest.raises(CollectError, match="is not an expert: expected layers"):
        read_expert(tmp_path / "x.safetensors")
    large = Expert([(np.zeros((600, 600), np.float32), np.zeros(600, np.float32))])
    with pytest.raises(CollectError, match="may take 1,000,000 bytes"):
        write_expert(tmp_path / "large.safetensors", large, {})


def test_without_weights_it_says_how_to_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experts, "DIRECTORY", tmp_path / "empty")
    with pytest.raises(CollectError, match="tools/train_ant_expert.py"):
        expert_path("ant")
    with pytest.raises(CollectError, match="trained ant, but there are no weights in"):
        collect("antmaze-medium-navigate-v0", episodes=1, output=tmp_path / "data")
    assert not (tmp_path / "data").exists()
    assert not can_collect("antmaze-medium-navigate-v0")
    assert can_collect("pointmaze-medium-navigate-v0")


def test_data_remembers_its_expert(weights: Path) -> None:
    plan = Plan("antmaze-medium-navigate-v0", RECIPES["antmaze-medium-navigate-v0"], 0, 10, 1)
    before = plan.identity()
    write_expert(weights, random_expert(seed=1), {})
    assert plan.identity()["expert"] != before["expert"]
    assert "expert" not in replace(plan, recipe=RECIPES["cube-single-play-v0"]).identity()


def test_expert_of_another_creature_is_refused(weights: Path) -> None:
    write_expert(weights, random_expert(inputs=69, outputs=21), {})
    with pytest.raises(CollectError, match="should take 29 numbers and give 8; it takes 69"):
        make_driver(short("antmaze-medium-navigate-v0"))


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("antmaze-medium-navigate-v0", AntNavigate),
        ("antmaze-large-stitch-v0", AntStitch),
        ("antmaze-teleport-explore-v0", AntExplore),
    ],
)
def test_episodes_depend_on_their_seed_alone(weights: Path, name: str, kind: type) -> None:
    recipe = short(name)
    driver = make_driver(recipe)
    assert type(driver) is kind
    collect_episode(driver, recipe, 0, Job("train", 0))
    again = collect_episode(driver, recipe, 0, Job("train", 3))
    alone = collect_episode(make_driver(recipe), recipe, 0, Job("train", 3))
    assert again["observations"].shape == (40, 29)
    assert again["actions"].shape == (40, 8)
    assert np.abs(again["actions"]).max() <= 1.0
    for key, values in again.items():
        np.testing.assert_array_equal(values, alone[key], err_msg=key)


@pytest.mark.full
def test_it_is_told_the_way_that_ogbench_finds(weights: Path) -> None:
    recipe = short("antmaze-medium-navigate-v0", 2000)
    driver: Any = make_driver(recipe)
    driver.begin(0, np.random.default_rng(0))
    env = driver.env
    assert driver._noise.std() == pytest.approx(0.2, rel=0.05)
    for step in range(20):
        subgoal, _ = env.get_oracle_subgoal(env.get_xy(), env.cur_goal_xy)
        way = subgoal - env.get_xy()
        direction = way / (np.linalg.norm(way) + 1e-6)
        np.testing.assert_allclose(driver._direction(step), direction, atol=1e-9)
        wanted = driver.expert.act(env.get_ob(), direction) + driver._noise[step]
        action = driver.act(step)
        np.testing.assert_allclose(action, np.clip(wanted, -1, 1), atol=1e-6)
        driver.observe(*env.step(action)[::4])


@pytest.mark.full
def test_a_goal_that_is_reached_is_followed_by_another(weights: Path) -> None:
    driver: Any = make_driver(short("antmaze-medium-navigate-v0"))
    driver.begin(0, np.random.default_rng(0))
    reached = np.array(driver.env.cur_goal_xy)
    driver.env.set_xy(reached)
    driver.observe(*driver.env.step(np.zeros(8))[::4])
    assert (np.array(driver.env.cur_goal_xy) != reached).any()
    assert driver.env.xy_to_ij(driver.env.cur_goal_xy) in driver.junctions


@pytest.mark.full
def test_exploring_keeps_a_direction_for_ten_steps(weights: Path) -> None:
    recipe = short("antmaze-medium-explore-v0", 205)
    driver: Any = make_driver(recipe)
    driver.begin(0, np.random.default_rng(0))
    directions = np.array([driver._direction(step) for step in range(205)])
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0)
    changes = np.flatnonzero((directions[1:] != directions[:-1]).any(1)) + 1
    np.testing.assert_array_equal(changes, np.arange(10, 205, 10))
    assert driver._noise.std() == pytest.approx(1.0, rel=0.1)


@pytest.mark.full
def test_the_ant_that_ships_walks_to_its_goals(tmp_path: Path) -> None:
    # In a worker, whose episodes are the same on every processor: one that falls walks less.
    task = "antmaze-medium-navigate-v0"
    done = collect(task, episodes=3, output=tmp_path, workers=1)
    with np.load(done.train) as file:
        episodes = file["observations"][:, :2].reshape(3, 1_001, 2)
    env = make_driver(RECIPES[task]).env
    metres = np.hypot(*np.diff(episodes, axis=1).transpose(2, 0, 1)).sum()
    assert metres / (3 * 1_001 * 0.1) > 0.8, "metres a second"
    cells = {tuple(env.xy_to_ij(place)) for place in episodes.reshape(-1, 2)}
    assert len(cells) >= 15, "of the 26 free cells"


def test_what_ships_says_how_it_was_made() -> None:
    from safetensors import safe_open

    path = expert_path("ant")
    with safe_open(path, framework="numpy") as file:
        about = file.metadata()
    curve = path.with_suffix(".csv").read_text(encoding="utf-8").splitlines()
    assert curve[0] == "steps,seconds,metres_per_second,falls"
    assert curve[-1].split(",")[0] == about["steps"]
    assert path.stat().st_size <= experts.MOST_BYTES
