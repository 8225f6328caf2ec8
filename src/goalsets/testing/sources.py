"""Check the contract of a data source."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator

import numpy as np

from goalsets.core import Episode
from goalsets.data.flatten import total_size
from goalsets.data.sources import Source, SourceError, default_store_name, known_layout
from goalsets.data.store import Split


def check_source(source: Source) -> None:
    """Check a source by reading a log from beginning to end, twice.

    Args:
        source: A source of a small log, for example one that the test has written.
    """
    check_settings(type(source))
    who = type(source).__name__
    told = source.describe()
    assert told.strip() and "\n" not in told, f"{who}: describe() must say in a line what is read."
    assert default_store_name(source), f"{who}: default_store_name() must not be empty."
    dim = total_size(source.fields())
    splits: list[Split] = ["train"]
    if source.has_validation:
        splits.append("validation")
    else:
        _check_refusal(source, who)
    actions = {_check_split(source, who, split, dim) for split in splits}
    assert len(actions) == 1, (
        f"{who}: all actions must be of one length, got {sorted(actions)} in {splits}."
    )
    assert all(isinstance(text, str) for text in source.notices), (
        f"{who}: notices must be goalsets.data.sources.Notices, got {type(source.notices)}."
    )
    layout = known_layout(source)
    assert layout is None or layout.dim == dim, (
        f"{who}: known_layout() must have the {dim} coordinates of fields(), got "
        f"{layout and layout.dim}."
    )


def check_settings(kind: type) -> None:
    """Check that all settings have docstrings: the command line is made from them."""
    who = kind.__name__
    assert dataclasses.is_dataclass(kind), f"{who} must be a dataclass: its fields are settings."
    assert kind.__dataclass_params__.frozen, f"{who} must be frozen: @dataclass(frozen=True)."  # pyright: ignore[reportAttributeAccessIssue]
    told = inspect.getdoc(kind)
    assert told and not told.startswith(f"{who}("), (
        f"{who} needs a docstring that says what it reads: the help shows it."
    )
    for field in dataclasses.fields(kind):
        if field.init:
            # An inherited setting has its docstring in the class that declares it.
            owner = next(
                c for c in kind.__mro__ if field.name in vars(c).get("__annotations__", ())
            )
            assert _is_explained(owner, field.name), (
                f"{who}.{field.name} needs a docstring on the next line: the help shows it."
            )


def _is_explained(owner: type, name: str) -> bool:
    """Whether a setting has a docstring."""
    lines = inspect.getsource(owner).splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith(f"    {name}:")]
    return bool(starts) and any(line.startswith('    """') for line in _following(lines, starts[0]))


def _following(lines: list[str], start: int) -> Iterator[str]:
    """The line after a setting, which may itself take several lines."""
    for line in lines[start + 1 :]:
        yield line
        if line[:4] == " " * 4 and line[4:5] not in (" ", ")"):
            return


def _check_refusal(source: Source, who: str) -> None:
    try:
        next(iter(source.episodes("validation")), None)
    except SourceError:
        return
    raise AssertionError(
        f"{who} says has_validation = False, so episodes('validation') must raise a SourceError: "
        "call goalsets.data.sources.base.check_split."
    )


def _check_split(source: Source, who: str, split: Split, dim: int) -> int:
    """Read a split twice, and return the length of its actions."""
    count, length = 0, 0
    again = iter(source.episodes(split))
    for episode in source.episodes(split):
        where = f"{who}, episode {count} of {split}"
        _check_episode(where, episode, dim)
        same = next(again, None)
        assert same is not None and _same(episode, same), (
            f"{where}: a second reading gave something else."
        )
        found = episode.actions.shape[1]
        assert count == 0 or found == length, (
            f"{where}: its actions have {found} components, those before {length}."
        )
        count, length = count + 1, found
    assert count, f"{who} has no episodes in {split}."
    assert next(again, None) is None, f"{who}: a second reading of {split} gave more episodes."
    return length


def _check_episode(where: str, episode: Episode, dim: int) -> None:
    # `Episode` itself checks that there is one state more than actions.
    assert isinstance(episode, Episode), (
        f"{where}: expected a goalsets.Episode, got {type(episode)}."
    )
    assert len(episode) > 0, f"{where} has no transition: leave it out, with a notice."
    assert episode.observations.shape[1] == dim, (
        f"{where}: its states have {episode.observations.shape[1]} coordinates; fields() has {dim}."
    )
    for name, values in (("states", episode.observations), ("actions", episode.actions)):
        assert values.dtype.kind == "f", f"{where}: {name} must be floats, got {values.dtype}."
        assert np.isfinite(values).all(), f"{where}: {name} must be finite."


def _same(one: Episode, other: Episode) -> bool:
    return (
        np.array_equal(one.observations, other.observations)
        and np.array_equal(one.actions, other.actions)
        and one.extras.keys() == other.extras.keys()
    )
