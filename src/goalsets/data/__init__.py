"""Data: logs of any format become trajectories that a learner can draw from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalsets.core import Episode, StateLayout
    from goalsets.data.store import Store

__all__ = ["from_episodes"]


def from_episodes(  # noqa: PLR0913 - what is known of the data
    episodes: Iterable[Mapping[str, Any] | Episode],
    path: str | Path,
    *,
    rate: float | None = None,
    names: Sequence[str] = (),
    layout: StateLayout | None = None,
    hold_out: float = 0.1,
    action_low: Sequence[float] | None = None,
    action_high: Sequence[float] | None = None,
    units: Mapping[str, str] | None = None,
) -> Store:
    """Write episodes of a program to a store that `goalsets train` can use.

    They are all held in memory on the way. Without a layout one is proposed, as by 'goalsets data
    import'; its file, with what the data suggest beyond names, is `<path>.layout.yaml`.

    Args:
        episodes: Dictionaries with `observations`, `[T + 1, D]` or a nested dictionary of such
            arrays, and `actions`, `[T, A]`; where `[T, D]` observations lack the last state, the
            last action is dropped. They may have `extras`, a dictionary of further values for each
            observation, and `names`. An `Episode` will do, too.
        path: The store's directory.
        rate: Steps a second, where that is known.
        names: A name for each coordinate of the observations.
        layout: The layout of the states; None proposes one.
        hold_out: The share of episodes for validation.
        action_low: The smallest action: one number for all components, or one for each; what the
            data shows unless given.
        action_high: The largest.
        units: Physical units of groups, such as `{"joint*": "deg"}`, by their names; a star stands
            for anything.

    Returns:
        The store, opened memory-mapped; its `notices` say what was left out or changed.

    Raises:
        GoalsetsError: An episode is not as above; the message names it, and what was expected.
    """
    # Whoever reads a store needs no source: they are imported by those who import data.
    from goalsets.data.given import Given
    from goalsets.data.importing import import_source, write_proposal

    imported = import_source(
        Given.read(episodes, rate, names),
        path,
        layout,
        hold_out=hold_out,
        action_low=action_low,
        action_high=action_high,
        units=units or {},
    )
    write_proposal(imported)
    return imported.store
