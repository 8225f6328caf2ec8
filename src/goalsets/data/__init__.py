"""Data: reads logs of many formats into trajectories for learners."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goalsets.core import Episode, StateLayout
    from goalsets.data.store import Store

__all__ = ["from_episodes"]


def from_episodes(  # noqa: PLR0913 - each argument is one fact about the data
    episodes: Iterable[Mapping[str, Any] | Episode],
    path: str | Path,
    *,
    rate: float | None = None,
    names: Sequence[str] = (),
    layout: StateLayout | None = None,
    hold_out: float = 0.1,
    action_low: Sequence[float] | None = None,
    action_high: Sequence[float] | None = None,
    action_switches: Sequence[int] | None = None,
    units: Mapping[str, str] | None = None,
) -> Store:
    """Write episodes of a program to a store that `goalsets train` can use.

    All episodes are held in memory meanwhile. Without a layout, one is proposed, as by 'goalsets
    data import'. The proposal is written to `<path>.layout.yaml`, with further suggestions as
    comments.

    Args:
        episodes: Dictionaries with `observations` and `actions`, or objects of class `Episode`.
            `observations` are `[T + 1, D]`, or a nested dictionary of such arrays; `actions` are
            `[T, A]`. If the observations lack the last state (`[T, D]`), the last action is
            dropped. A dictionary may also have `extras`, a dictionary of further values for each
            observation, and `names`.
        path: The store's directory.
        rate: Steps a second, if known.
        names: A name for each coordinate of the observations.
        layout: The layout of the states; None proposes one.
        hold_out: The share of episodes for validation.
        action_low: The smallest action: one number for all components, or one for each. Without
            it, the data decides.
        action_high: The largest action, given in the same way.
        action_switches: Components of actions, counted from 0, that have two values in the data. A
            policy then answers only these two values.
        units: Physical units of groups by name, such as `{"joint*": "deg"}`; a star matches any
            text.

    Returns:
        The store, opened memory-mapped. Its `notices` say what was left out or changed.

    Raises:
        GoalsetsError: An episode has another form; the message names the episode and what was
            expected.
    """
    # Imported here, because reading a store needs no sources.
    from goalsets.data.given import Given
    from goalsets.data.importing import import_source, write_proposal

    imported = import_source(
        Given.read(episodes, rate, names),
        path,
        layout,
        hold_out=hold_out,
        action_low=action_low,
        action_high=action_high,
        action_switches=action_switches,
        units=units or {},
    )
    write_proposal(imported)
    return imported.store
