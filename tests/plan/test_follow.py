"""Following plans: chains of questions in the tabletop world, with a script that answers one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from goalsets import GoalSet, GoalsetsError, Query
from goalsets.envs.tabletop.layout import OPENING
from goalsets.envs.tasks import TASKS
from goalsets.evaluate.rollout import EpisodeSpec, run_episode
from goalsets.plan import Follower, PlanningPolicy, Step, read_planner, write_planner
from goalsets.plan.shaking import Shaking
from tests.plan.worlds import CHEST, INSIDE, TABLE, chest_planner, chest_state, table_planner

TASK = "tabletop-double-v0"
HAND = list(TABLE.by_name["eff_pos"].indices)
BLOCKS = [list(TABLE.by_name[f"block{block}_pos"].indices) for block in range(2)]
ABOVE = np.array([0, 0, 0.7])


class Carrier:
    """Brings the first block that is asked for and not there to its place, however it lies now.

    It knows nothing of what is in the way, and puts down what it holds before it takes another.
    """

    layout = TABLE
    answers = "any question"
    distance_unit = None

    def hears(self, query):
        return query.mask if isinstance(query, Query) else np.asarray(query)

    def reset(self):
        return None

    def act(self, observation, goal, query, *, rng=None, memory=None):  # noqa: PLR0911 - a script
        state, mask = np.asarray(observation), self.hears(query)
        asked = [c for c in BLOCKS if mask[c].all() and _far(state[c], goal[c]) > 0.15] or [
            c for c in BLOCKS if mask[c].all()
        ]
        block, hand = state[asked[0]], state[HAND]
        held = [c for c in BLOCKS if _far(state[c], hand) < 0.2 and state[OPENING] < 0.45]
        if held and held[0] != asked[0]:
            return _towards(hand, hand - ABOVE, 1.0 if state[held[0]][2] < 0.75 else -1.0)
        if held:
            over = goal[asked[0]] + ABOVE
            if _far(hand[:2], over[:2]) > 0.1:
                lift = hand[2] < over[2] - 0.2
                return _towards(hand, hand + ABOVE if lift else over, -1.0)
            down = hand[2] - goal[asked[0]][2] < 0.1
            return _towards(hand, goal[asked[0]], 1.0 if down else -1.0)
        if _far(hand, block) < 0.08:
            return _towards(hand, block, -1.0)
        if state[OPENING] < 0.9:
            return _towards(hand, hand + ABOVE, 1.0)
        if _far(hand[:2], block[:2]) > 0.05:
            return _towards(hand, block + ABOVE, 1.0)
        return _towards(hand, block, 1.0)

    def distance(self, observation, goal, query):
        raise NotImplementedError


def _far(a, b):
    return float(np.linalg.norm(np.asarray(a) - np.asarray(b)))


def _towards(hand, target, jaws):
    return np.array([*np.clip((target - hand) / 0.3, -1, 1), 0.0, jaws], np.float32)


@pytest.fixture(scope="module")
def world():
    return TASKS[TASK].open()


@pytest.mark.parametrize("goal", TASKS[TASK].goal_numbers)
def test_a_chain_answers_what_the_question_alone_does_not(world, goal):
    planned = PlanningPolicy(Carrier(), table_planner())
    for seed in range(5):
        assert run_episode(world, planned, EpisodeSpec(TASK, goal, seed)).success


def test_without_a_plan_the_same_policy_cannot_swap(world):
    swap = TASKS[TASK].goals.index("task4_swap") + 1
    assert not run_episode(world, Carrier(), EpisodeSpec(TASK, swap, 0)).success


def test_a_part_that_is_lost_is_asked_for_again(world):
    first, goal = world.start(2, 0)
    follower = Follower(table_planner())
    following = follower.begin(first, GoalSet(goal, TASKS[TASK].query))
    assert len(following.plan.steps) == 2
    done = first.copy()
    step = following.plan.steps[0]
    done[list(step.goals.query.indices)] = step.goals.reference[list(step.goals.query.indices)]
    follower.question(following, done)
    assert (following.at, following.plans) == (1, 1)
    moving = done.copy()
    due = following.step.goals
    moving[due.query.indices[0]] -= 0.5  # what is due moves: the first part is in no hand
    follower.question(following, moving)
    lost = first.copy()
    lost[list(due.query.indices)] = moving[list(due.query.indices)]
    for _ in range(6):
        follower.question(following, lost)
    assert following.plans == 2
    assert following.at == 0
    assert len(following.plan.steps) == 2


def test_a_part_that_the_hand_takes_along_is_asked_for_again_at_once(world):
    first, goal = world.start(2, 0)
    follower = Follower(table_planner())
    following = follower.begin(first, GoalSet(goal, TASKS[TASK].query))
    step = following.plan.steps[0]
    columns = list(step.goals.query.indices)
    done = first.copy()
    done[columns] = step.goals.reference[columns]
    follower.question(following, done)
    assert following.at == 1
    carried = done.copy()
    carried[columns] += 1.0
    _, mask = follower.question(following, carried)
    assert (following.at, following.plans, following.returns) == (0, 1, 1)
    assert np.flatnonzero(mask).tolist() == sorted(columns)
    for _ in range(200):  # a hand that never lets go: the plan goes on all the same
        follower.question(following, done)
        follower.question(following, carried)
        if following.plans > 1:
            break
    assert following.plans > 1 or following.returns == 20


def test_a_question_that_takes_much_longer_than_its_price_is_given_up_for_another_way(world):
    first, goal = world.start(4, 0)
    follower = Follower(table_planner())
    following = follower.begin(first, GoalSet(goal, TASKS[TASK].query))
    tried = following.step
    for _ in range(int(2 * tried.steps) + 40):
        follower.question(following, first)
    assert following.plans == 2
    assert following.step.asked != tried.asked


def test_without_a_chain_the_whole_question_is_asked(world):
    first, goal = world.start(1, 0)
    goal = goal.copy()
    goal[BLOCKS[0]] = 30.0
    follower = Follower(table_planner())
    following = follower.begin(first, GoalSet(goal, TASKS[TASK].query))
    reference, mask = follower.question(following, first)
    assert not following.plan.found
    assert mask.tolist() == TASKS[TASK].query.mask.tolist()
    assert reference.tolist() == goal.tolist()


def test_another_goal_makes_another_plan(world):
    planned = PlanningPolicy(Carrier(), table_planner())
    first, goal = world.start(2, 0)
    memory = planned.reset()
    planned.act(first, goal, TASKS[TASK].query, memory=memory)
    before = memory[0][1].plan
    planned.act(first, goal, TASKS[TASK].query, memory=memory)
    assert memory[0][1].plan is before
    planned.act(first, first, TASKS[TASK].query, memory=memory)
    assert memory[0][1].plan is not before


def test_many_rows_have_plans_of_their_own(world):
    planned = PlanningPolicy(Carrier(), table_planner())
    starts = [world.start(goal, 0) for goal in (2, 4)]
    memory = planned.reset()
    states = np.stack([start.observation for start in starts])
    goals = np.stack([start.goal for start in starts])
    actions = planned.act(states, goals, TASKS[TASK].query, memory=memory)
    assert actions.shape == (2, 5)
    for row, start in enumerate(starts):
        alone = planned.act(start.observation, start.goal, TASKS[TASK].query)
        assert alone.tolist() == actions[row].tolist()


def test_locks_are_followed_in_order():
    """A world that obeys at once: each question that is asked comes true, with what moves along."""
    start, goal = chest_state(False, 0, (3, 1)), chest_state(False, 0, tuple(INSIDE))
    follower = Follower(chest_planner())
    following = follower.begin(start, GoalSet(goal, Query.parse("task", CHEST)))
    state, asked = start.copy(), []
    for _ in range(20):
        reference, mask = follower.question(following, state)
        if bool(following.goals.contains(state)):
            break
        asked.append(tuple(np.flatnonzero(mask).tolist()))
        inside = _far(state[4:], INSIDE + np.array([state[3], 0])) < 0.1
        moved = np.where(mask, reference, state).astype(np.float32)
        if inside:
            moved[4] += moved[3] - state[3]
        state = moved
    lock, chest, ball = (1, 2), (3,), (4, 5)
    assert asked == [lock, chest, ball, chest, lock]


def test_a_switch_that_jumps_by_surprise_makes_another_plan():
    start, goal = chest_state(True, 0, (3, 1)), chest_state(True, 1, (3, 1))
    follower = Follower(chest_planner())
    following = follower.begin(start, GoalSet(goal, Query.parse("task", CHEST)))
    assert following.step.parts == ("chest",)
    follower.question(following, start)
    locked = chest_state(False, 0, (3, 1))
    for _ in range(6):
        follower.question(following, locked)
    assert following.plans == 2
    assert following.step.parts == ("lock_state",)


def test_what_a_step_moves_is_no_surprise():
    start, goal = chest_state(True, 0, (3, 1)), chest_state(True, 1, (3, 1))
    follower = Follower(chest_planner())
    following = follower.begin(start, GoalSet(goal, Query.parse("task", CHEST)))
    for opening in np.linspace(0, 0.8, 12):
        follower.question(following, chest_state(True, float(opening), (3, 1)))
    assert following.plans == 1


def test_a_robot_that_is_stuck_is_shaken_and_one_that_moves_is_not():
    ones = np.ones(3, np.float32)
    action = np.array([0.1, -0.2], np.float32)
    shaking, still = Shaking(), np.zeros(3, np.float32)
    first = [shaking.shake(a, still, ones) for a in (action, -action)]
    assert [a.tolist() for a in first] == [action.tolist(), (-action).tolist()]
    taken = np.stack([shaking.shake(action, still, ones) for _ in range(60)])
    noisy = (taken != action).any(1)
    assert 4 <= noisy.sum() <= 30
    assert (np.abs(taken) <= np.abs(action) + 1e-6).all()  # within what the policy did
    moving = Shaking()
    for step in range(60):
        found = moving.shake(action, np.full(3, 0.1 * step, np.float32), ones)
        assert found.tolist() == action.tolist()
    assert Shaking().shake(action, still, None) is action


def test_one_coordinate_never_decides_otherwise_than_the_goal_set():
    rng = np.random.default_rng(0)
    goal = table_planner().usual[0]
    goals = GoalSet(np.array(goal), Query.parse("block0_pos & block0_yaw & eff_pos", TABLE))
    step = Step(goals, ("block0",), 1.0, 0.0, 0, False)
    states = goal + rng.normal(0, 0.15, (400, TABLE.dim)).astype(np.float32)
    found = [step.holds(state) for state in states]
    assert found == goals.contains(states).tolist()
    assert 0 < sum(found) < 400


def test_prices_by_a_policy_need_one_that_predicts_steps():
    with pytest.raises(GoalsetsError, match="is: none. Use prices 'data'"):
        PlanningPolicy(Carrier(), table_planner(), prices="policy")


def test_a_policy_that_knows_what_to_do_at_a_goal_is_asked_a_little_longer(world, tmp_path):
    """It lets go of a block before it is asked for the next one."""
    write_planner(dataclasses.replace(table_planner(), wait=4), tmp_path / "planner.safetensors")
    planner = read_planner(tmp_path / "planner.safetensors")
    first, goal = world.start(2, 0)
    follower = Follower(planner)
    following = follower.begin(first, GoalSet(goal, TASKS[TASK].query))
    columns = list(following.step.goals.query.indices)
    done = first.copy()
    done[columns] = following.step.goals.reference[columns]
    asked = [follower.question(following, done)[1].tolist() for _ in range(3)]
    assert following.at == 0
    follower.question(following, first)  # it moved on: what held before does not count
    asked += [follower.question(following, done)[1].tolist() for _ in range(4)]
    assert following.at == 0
    assert len({tuple(mask) for mask in asked}) == 1
    follower.question(following, done)
    assert following.at == 1
