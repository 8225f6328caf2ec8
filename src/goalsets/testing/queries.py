"""Check the contract of a query distribution."""

from __future__ import annotations

import numpy as np

from goalsets.condition import CONDITIONERS
from goalsets.core import StateLayout
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, SCHEMES, QueryDistribution

DRAWS = 40_000


def check_query_distribution(
    distribution: str | QueryDistribution, layout: StateLayout, *, draws: int = DRAWS
) -> None:
    """Check that a distribution draws `bool[B, D]`, never an empty row, as its marginals declare.

    Args:
        distribution: Its name, or the distribution itself. If it is a name, the schemes that train
            with it are checked, too.
        layout: The layout of the states.
        draws: How many queries to draw.
    """
    if isinstance(distribution, str):
        _check_schemes(distribution)
        distribution = QUERY_DISTRIBUTIONS[distribution]()
    who = f"{distribution} under layout {layout.name!r}"
    masks = distribution.sample(layout, draws, np.random.default_rng(0))
    told = f"{masks.dtype}{list(masks.shape)}"
    assert masks.shape == (draws, layout.dim) and masks.dtype == np.bool_, (
        f"{who}: sample() must give bool[{draws}, {layout.dim}], got {told}."
    )
    empty = int((~masks.any(axis=1)).sum())
    assert not empty, f"{who}: {empty} of {draws} queries are empty: each needs a coordinate."
    again = distribution.sample(layout, draws, np.random.default_rng(0))
    assert (masks == again).all(), (
        f"{who}: the same seed gave different queries: draw all random numbers from rng."
    )
    none = distribution.sample(layout, 0, np.random.default_rng(0))
    assert none.shape == (0, layout.dim), (
        f"{who}: for a batch size of 0, sample() must give [0, {layout.dim}], got "
        f"{list(none.shape)}."
    )
    _check_marginals(who, np.asarray(distribution.marginals(layout)), masks)


def _check_marginals(who: str, declared: np.ndarray, masks: np.ndarray) -> None:
    draws, dim = masks.shape
    assert declared.shape == (dim,), (
        f"{who}: marginals() must give a probability for each of {dim} coordinates, got "
        f"{list(declared.shape)}."
    )
    assert ((declared >= 0) & (declared <= 1)).all(), (
        f"{who}: marginals() are probabilities, got {declared.min():.3g} to {declared.max():.3g}."
    )
    seen = masks.mean(axis=0)
    # Five standard errors of a share: about one false alarm in a million coordinates.
    excess = np.abs(seen - declared) - (5 * np.sqrt(declared * (1 - declared) / draws) + 1e-12)
    worst = int(excess.argmax())
    assert excess[worst] <= 0, (
        f"{who}: marginals() says that coordinate {worst} is active in {declared[worst]:.1%} of "
        f"all queries; among {draws} draws it was active in {seen[worst]:.1%}."
    )


def _check_schemes(name: str) -> None:
    schemes = {key: scheme for key, scheme in SCHEMES.items() if scheme.queries == name}
    assert schemes, (
        f"no scheme trains with {name!r}: add SCHEMES.add('gs-{name}', Scheme({name!r})) beside it."
    )
    for key, scheme in schemes.items():
        assert scheme.conditioning in CONDITIONERS, (
            f"scheme {key!r} names the conditioner {scheme.conditioning!r}; there are "
            f"{', '.join(CONDITIONERS)}."
        )
