"""Pictures of the tabletop: not how they look, but that they show what there is to see."""

import numpy as np
import pytest

from goalsets.core import GoalsetsError, Query
from goalsets.envs.tabletop import TabletopEnv, build_states, render_state, tabletop_layout
from goalsets.envs.tabletop.canvas import Canvas


def state_with(**changes):
    values = {
        "eff_pos": [[-1.0, 1.0, 1.5]],
        "eff_yaw": [0.4],
        "opening": [0.8],
        "block_pos": [[[0.5, -0.5, 0.2], [-1.2, -1.0, 0.2]]],
        "block_yaw": [[0.3, 1.0]],
    }
    return build_states(**{**values, **changes})[0]


def test_a_picture_has_its_size_and_type():
    picture = render_state(state_with())
    assert picture.shape == (384, 256, 3)
    assert picture.dtype == np.uint8
    assert render_state(state_with(), width=101).shape == (151, 101, 3)


@pytest.mark.parametrize(
    "change",
    [
        {"eff_pos": [[-1.0, 1.0, 1.2]]},
        {"eff_yaw": [0.9]},
        {"opening": [0.5]},
        {"block_pos": [[[0.5, -0.5, 0.9], [-1.2, -1.0, 0.2]]]},
        {"block_yaw": [[0.3, 1.4]]},
    ],
)
def test_everything_that_can_be_asked_for_can_be_seen(change):
    assert (render_state(state_with(**change)) != render_state(state_with())).any()


def test_blocks_are_where_the_state_says():
    red = render_state(state_with())[:256].astype(int)
    rows, columns = np.nonzero((red[..., 0] > 180) & (red[..., 1] < 100))
    pixels_per_unit = 256 / 4.8
    assert columns.mean() / pixels_per_unit - 2.4 == pytest.approx(0.5, abs=0.05)
    assert 2.4 - rows.mean() / pixels_per_unit == pytest.approx(-0.5, abs=0.05)


def test_a_goal_is_a_ghost_of_what_the_query_asks_for():
    state, layout = state_with(), tabletop_layout(2)
    goal = state_with(eff_pos=[[1.5, 1.5, 1.0]], block_pos=[[[1, 1, 0.2], [0, 0, 0.2]]])
    plain = render_state(state)
    changed = {
        text: (render_state(state, goal, query=Query.parse(text, layout)) != plain).any(axis=-1)
        for text in ("block0_pos", "block1_yaw", "eff_pos", "joint_pos", "all")
    }
    assert not changed["joint_pos"].any()
    parts = [changed[text] for text in ("block0_pos", "block1_yaw", "eff_pos")]
    assert all(part.any() for part in parts)
    assert np.array_equal(np.any(parts, axis=0), changed["all"])
    assert np.array_equal(
        render_state(state, goal) != plain,
        render_state(state, goal, query=Query.all(layout)) != plain,
    )


def test_drawing_one_picture_leaves_the_next_alone():
    first = render_state(state_with())
    render_state(state_with(opening=[0.1]))
    assert np.array_equal(render_state(state_with()), first)


def test_the_environment_draws_only_when_asked_to():
    assert TabletopEnv(1).render() is None
    silent = TabletopEnv(1)
    silent.reset(seed=0)
    assert silent.render() is None
    env = TabletopEnv(1, render_mode="rgb_array")
    observation, info = env.reset(seed=0)
    query = Query.parse("task", env.layout)
    assert np.array_equal(env.render(), render_state(observation, info["goal"], query=query))


def test_only_single_observations_can_be_drawn():
    with pytest.raises(GoalsetsError, match=r"18 or 23 coordinates, got shape \(5,\)"):
        render_state(np.zeros(5))
    with pytest.raises(GoalsetsError, match=r"got shape \(2, 18\)"):
        render_state(np.zeros((2, 18)))


def test_canvas_smooths_edges_and_clips_to_the_picture():
    canvas = Canvas(4, 4, (0.0, 0.0, 0.0))
    canvas.polygon([(-9, -9), (1.5, -9), (1.5, 2), (-9, 2)], (1.0, 1.0, 1.0))
    canvas.polygon([(20, 20), (30, 20), (30, 30)], (1.0, 1.0, 1.0))
    canvas.polygon([(-20, -20), (-30, -20), (-30, -30)], (1.0, 1.0, 1.0))
    grey = canvas.picture()[..., 0]
    assert grey[0].tolist()[0] == 255
    assert 0 < grey[0, 1] < 255
    assert grey[2:].max() == 0
