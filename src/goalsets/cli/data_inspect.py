"""`goalsets data inspect`: what a data set contains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from goalsets.cli.printing import print_table

if TYPE_CHECKING:
    from goalsets.data.inspect import Inspection


def inspect(
    store: Annotated[Path, tyro.conf.Positional],
    html: Path | None = None,
    verify: bool = False,
) -> None:
    """Inspect a store: how each group moves, what can be asked, and what looks wrong.

    Args:
        store: The store's directory, as 'goalsets data import' writes it.
        html: Where to write the page; by default beside the store.
        verify: Also read every byte and compare it with the store's digests.
    """
    from goalsets.data.inspect import inspect_store, write_page
    from goalsets.data.store import Store

    opened = Store.open(store, mapped=True)
    if verify:
        opened.verify()
    seen = inspect_store(opened)
    _print(seen)
    page = html or store.with_name(store.name + ".html")
    write_page(seen, page)
    print(f"page: {page}")


def _print(seen: Inspection) -> None:
    print(f"{seen.name}: {seen.source}")
    for split, (episodes, transitions) in seen.splits.items():
        print(f"  {split:10} {episodes:>7,} episodes  {transitions:>11,} transitions")
    low, high = seen.lengths.low, seen.lengths.high
    print(
        f"  episodes of {low:.0f} to {high:.0f} transitions, the median is {seen.median_length:.0f}"
    )
    if seen.rate is not None:
        shortest, longest, median = (n / seen.rate for n in (low, high, seen.median_length))
        print(
            f"  {seen.rate:g} steps a second: episodes of {shortest:.3g} to {longest:.3g} s, "
            f"the median is {median:.3g} s"
        )
    components = f"{seen.dims[1]} component{'s' * (seen.dims[1] > 1)}"
    print(f"  actions of {components} within {seen.bounds}, {seen.bounds.origin_in_words}")
    print_table(
        ("group", "dim", "range", "tolerance", "episodes", "steps", "goals", "covers"),
        [
            (
                group.name,
                str(len(group.indices)),
                f"{group.low:.3g} to {group.high:.3g}",
                f"{group.tolerance:.3g}{' (assumed)' if group.assumed else ''}",
                f"{group.episode_share:.0%}",
                f"{group.step_share:.0%}",
                "" if group.cells is None else f"{group.cells:,}",
                "" if group.coverage is None else f"{group.coverage:.0%}",
            )
            for group in seen.groups
        ],
    )
    print(
        "episodes: the share in which the group gets further than its tolerance from where it began"
    )
    print("steps: the share that moves it by a tenth of its tolerance or more")
    print(
        "goals: visited cells of the size of the tolerance; covers: their share of the bounding box"
    )
    for text in seen.action_notes:
        print(f"note: {text}")
    for text in seen.suspects:
        print(f"suspicious: {text}")
    if not seen.suspects:
        print("nothing suspicious")
