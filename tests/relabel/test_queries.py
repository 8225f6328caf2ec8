"""Query distributions: the contract over the registry, and each one's own law."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import GoalsetsError, Group, Query, StateLayout
from goalsets.envs.layouts import antmaze_layout, cube_layout, pointmaze_layout, scene_layout
from goalsets.relabel.queries import (
    QUERY_DISTRIBUTIONS,
    Blockwise,
    Full,
    Mixture,
    Semantic,
    Task,
    Uniform,
    random_subsets,
)
from goalsets.testing import check_query_distribution
from goalsets.testing.queries import DRAWS

LAYOUTS = {
    "cube": cube_layout(1),
    "scene": scene_layout(),
    "pointmaze": pointmaze_layout(),
    "antmaze": antmaze_layout(),
    "one coordinate": StateLayout(1, [Group("x", (0,))], task="x"),
    "wide": StateLayout(300, [Group("x", (0, 299)), Group("y", range(7, 19))], task="y"),
}
MIXTURE = Mixture([(Blockwise(), 1.0), (Semantic(), 2.0), (Task(), 1.0)])
DISTRIBUTIONS: list[str | Mixture] = [*QUERY_DISTRIBUTIONS, MIXTURE]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda d: d if d != MIXTURE else "mix")
def test_contract(distribution: str | Mixture, layout: str) -> None:
    check_query_distribution(distribution, LAYOUTS[layout])


def test_full_and_task_are_fixed() -> None:
    layout, rng = cube_layout(2), np.random.default_rng(0)
    assert Full().sample(layout, 3, rng).all()
    expected = Query.parse("block0_pos & block1_pos", layout).mask
    assert (Task().sample(layout, 3, rng) == expected).all()


def test_uniform_sizes_are_uniform() -> None:
    layout = cube_layout(1)
    sizes = Uniform().sample(layout, DRAWS, np.random.default_rng(1)).sum(axis=1)
    counts = np.bincount(sizes, minlength=29)[1:]
    expected = DRAWS / 28
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()


def test_random_subsets_have_their_size_and_no_favourites() -> None:
    counts = np.tile([1, 2, 5, 6], 30_000)
    masks = random_subsets(counts, 6, np.random.default_rng(0))
    assert (masks.sum(axis=1) == counts).all()
    pairs = masks[counts == 2]
    codes = np.bincount(pairs @ (1 << np.arange(6)))
    seen = codes[codes > 0]
    assert len(seen) == 15  # all pairs of six
    assert (np.abs(seen - 2_000) < 5 * np.sqrt(2_000)).all()


def test_blockwise_is_the_papers() -> None:
    """Kinds 0.15 / 0.15 / 0.7; spans of ⌊U[0.15, 0.40]·28⌋ = 4 to 11; one to four of them."""
    layout = cube_layout(1)
    masks = Blockwise().sample(layout, DRAWS, np.random.default_rng(2))
    spans_only = Blockwise(p_full=0, p_random=0)
    spans = spans_only.sample(layout, DRAWS, np.random.default_rng(3))
    one_span = Blockwise(p_full=0, p_random=0, max_spans=1)
    lengths = one_span.sample(layout, DRAWS, np.random.default_rng(4)).sum(axis=1)
    assert lengths.min() == 4
    assert lengths.max() == 11
    # Each whole length has probability 1/7, but for the ends of [4.2, 11.2].
    shares = np.bincount(lengths, minlength=12)[4:] / DRAWS
    np.testing.assert_allclose(shares, [0.8 / 7, *[1 / 7] * 6, 0.2 / 7], atol=0.01)
    runs = (np.diff(np.pad(spans, ((0, 0), (1, 0))).astype(int), axis=1) == 1).sum(axis=1)
    assert set(runs) == {1, 2, 3, 4}
    full = masks.all(axis=1).mean()
    # Random coordinates are all active once in D times; spans almost never cover everything.
    assert full == pytest.approx(0.15 + 0.15 / 28 + 0.7 * spans.all(axis=1).mean(), abs=0.01)


def test_blockwise_starts_are_uniform() -> None:
    layout = StateLayout(10, [])
    fixed = Blockwise(p_full=0, p_random=0, max_spans=1, min_fraction=0.3, max_fraction=0.3)
    masks = fixed.sample(layout, DRAWS, np.random.default_rng(0))
    assert (masks.sum(axis=1) == 3).all()
    starts = np.bincount(masks.argmax(axis=1), minlength=8) / DRAWS
    np.testing.assert_allclose(starts, 1 / 8, atol=0.01)


def test_semantic_draws_whole_groups_with_the_declared_law() -> None:
    layout = cube_layout(1)
    masks = Semantic().sample(layout, DRAWS, np.random.default_rng(0))
    active = np.stack([masks[:, list(g.indices)].all(axis=1) for g in layout.groups], axis=1)
    touched = np.stack([masks[:, list(g.indices)].any(axis=1) for g in layout.groups], axis=1)
    assert (active == touched).all(), "a group was cut"
    number = np.arange(1, 10)
    law = 0.6 * (1 / number) / (1 / number).sum() + 0.4 / 9
    shares = np.bincount(active.sum(axis=1), minlength=10)[1:] / DRAWS
    np.testing.assert_allclose(shares, law, atol=0.01)


def test_semantic_needs_groups() -> None:
    bare = StateLayout(3, [], name="bare")
    with pytest.raises(GoalsetsError, match="layout 'bare' has none"):
        Semantic().sample(bare, 1, np.random.default_rng(0))


def test_mixture_weights_are_normalised_and_checked() -> None:
    layout = cube_layout(1)
    mixture = Mixture([(Full(), 3.0), (Task(), 1.0)])
    masks = mixture.sample(layout, DRAWS, np.random.default_rng(0))
    assert masks.all(axis=1).mean() == pytest.approx(0.75, abs=0.01)
    for weights in ([], [(Full(), -1.0)], [(Full(), 0.0)]):
        with pytest.raises(GoalsetsError, match="a mixture needs weights"):
            Mixture(weights)


def test_unknown_distribution_suggests() -> None:
    with pytest.raises(GoalsetsError, match="did you mean 'blockwise'"):
        QUERY_DISTRIBUTIONS["blokwise"]
