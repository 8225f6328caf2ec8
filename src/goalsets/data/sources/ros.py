"""The `ros` source: ROS 2 bags and MCAP files, one episode each, resampled to one rate.

Each topic has its own rate. States are interpolated at evenly spaced times. An action is the last
command that was sent before. An episode begins when all topics have begun, and ends when the first
topic of the state ends. Whole numbers and switches hold their last value, and do not end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goalsets.core import Episode
from goalsets.data.flatten import FieldSpec
from goalsets.data.sources.bags import Bag, Message, find_bags, open_bag
from goalsets.data.sources.base import (
    SOURCES,
    Notices,
    SourceError,
    Split,
    check_split,
    make_episode,
)
from goalsets.data.sources.messages import Choice, Leaf, find_leaves, stamp_of
from goalsets.data.sources.resample import Filling, Stream, common_times, note_silence
from goalsets.data.sources.times import measured_rate

_ENOUGH = 200
"""How many messages are read to measure the rate of a topic."""


@SOURCES.register("ros")
@dataclass(frozen=True)
class Ros:
    """Episodes in ROS 2 bags or MCAP files: one bag or file for each."""

    paths: tuple[Path, ...]
    """Bags: directories that ROS 2 wrote, `.mcap`, `.db3` and `.bag` files, or a directory of
    them."""
    observations: tuple[str, ...] = ()
    """The numbers of the state, in order, such as `/joint_states.position`, `/tool.pose` or
    `/joint_states.position[elbow,wrist]`."""
    actions: tuple[str, ...] = ()
    """The numbers of the actions, in order, such as `/command.data`."""
    rate: float | None = None
    """Steps a second to which all topics are resampled; by default the rate of the first topic of
    the state."""
    stamps: Literal["log", "header"] = "log"
    """The time of a message: when it was logged, or the stamp in its header."""
    distro: str = "humble"
    """The distribution of ROS 2 that defines the messages, if the bag does not."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    has_validation = False

    def __post_init__(self) -> None:
        """Accept a single path and text too."""
        paths = (self.paths,) if isinstance(self.paths, str | Path) else self.paths
        object.__setattr__(self, "paths", tuple(Path(path).expanduser() for path in paths))
        if self.rate is not None and not 0 < self.rate < np.inf:
            raise SourceError(f"the rate must be above 0 steps a second, got {self.rate}.")

    @property
    def store_name(self) -> str:
        """The name of the bag or directory; for several bags, the name of their directory."""
        first = find_bags(self.paths)[0].absolute()
        return self.paths[0].absolute().stem if len(self.paths) == 1 else first.parent.name

    def fields(self) -> tuple[FieldSpec, ...]:
        """One field for each vector of the messages, with the names of its entries, if any."""
        return self._fields(self._record(find_bags(self.paths)[0], limit=1))

    def describe(self) -> str:
        """Say what is being read."""
        bags = find_bags(self.paths)
        return f"bag {bags[0]}" if len(bags) == 1 else f"{len(bags)} bags in {bags[0].parent}"

    def known_rate(self) -> float | None:
        """The rate of the first topic of the state, in the first bag."""
        path = find_bags(self.paths)[0]
        times = self._record(path, limit=_ENOUGH)[self.observations[0]].streams()[0].times
        rate = measured_rate((times - times[0]) * 1e-9, f"{path}, {self.observations[0]!r}")
        if rate is None:
            raise SourceError(
                f"{path}: there is one message with {self.observations[0]!r}, so its rate is "
                "unknown. Set 'rate'."
            )
        self.notices.add(f"the rate is that of {self.observations[0]!r}, {rate:g} steps a second")
        return rate

    def episodes(self, split: Split = "train") -> Iterator[Episode]:
        """Read all bags, one at a time."""
        check_split(split, self.has_validation, self.describe())
        rate = self.rate or self.known_rate() or 0.0
        expected = self.fields()
        for path in find_bags(self.paths):
            recorders = self._record(path)
            if self._fields(recorders) != expected:
                raise SourceError(
                    f"{path}: the state is {_print(self._fields(recorders))}; expected "
                    f"{_print(expected)}, as in the first bag."
                )
            states = [s for text in self.observations for s in recorders[text].streams()]
            actions = [s for text in self.actions for s in recorders[text].streams("hold")]
            times = common_times(states, actions, rate, str(path))
            note_silence((*states, *actions), times, str(path), self.notices)
            # There is one action fewer than states, so that no action is dropped.
            episode = make_episode(
                str(path), _join(states, times), _join(actions, times[:-1]), {}, self.notices
            )
            if episode is not None:
                yield episode

    def _record(self, path: Path, limit: int | None = None) -> dict[str, Recorder]:
        """Read the chosen messages, or about `limit` of each."""
        with open_bag(path, self.distro) as bag:
            recorders = {text: Recorder(choice) for text, choice in self._choices(path, bag)}
            topics = {recorder.choice.topic for recorder in recorders.values()}
            with contextlib.closing(bag.read(topics)) as messages:
                for topic, logged, message in messages:
                    time = self._time(path, topic, logged, message)
                    for recorder in recorders.values():
                        if recorder.choice.topic == topic:
                            recorder.add(time, message, str(path))
                    if limit and all(len(r.times) >= limit for r in recorders.values()):
                        break
        for text, recorder in recorders.items():
            if not recorder.times:
                raise SourceError(f"{path}: no message holds {text!r}.")
        return recorders

    def _choices(self, path: Path, bag: Bag) -> Iterator[tuple[str, Choice]]:
        for what, texts in (("observations", self.observations), ("actions", self.actions)):
            if not texts:
                topics = [f"{name} ({kind})" for name, kind in sorted(bag.topics.items())]
                raise SourceError(
                    f"name topics and fields in '{what}', such as /joint_states.position. "
                    f"The topics of {path} are {', '.join(topics) or 'none'}."
                )
        for text in (*self.observations, *self.actions):
            try:
                yield text, Choice.parse(text, list(bag.topics))
            except SourceError as error:
                raise SourceError(f"{path}: {error}") from None

    def _time(self, path: Path, topic: str, logged: int, message: Message) -> int:
        if self.stamps == "log":
            return logged
        stamp = stamp_of(message)
        if stamp is None:
            raise SourceError(
                f"{path}: the messages on {topic!r} have no stamp in a header. "
                "Set 'stamps' to 'log' to use the times of the log."
            )
        return stamp

    def _fields(self, recorders: Mapping[str, Recorder]) -> tuple[FieldSpec, ...]:
        return tuple(field for text in self.observations for field in recorders[text].fields)


class Recorder:
    """Collects some numbers of the messages on a topic."""

    def __init__(self, choice: Choice) -> None:
        """Start without a message."""
        self.choice = choice
        self.times: list[int] = []
        self.first: list[Leaf] = []
        self._values: list[list[NDArray[np.generic]]] = []

    def add(self, time: int, message: Message, where: str) -> None:
        """Take the numbers of a message, in the order of the first one."""
        try:
            leaves = find_leaves(message, self.choice)
        except SourceError as error:
            raise SourceError(f"{where}: {error}") from None
        if not leaves:
            return  # entries are chosen by name, and this message has none of them
        if not self.first:
            self.first = leaves
        if _kinds(leaves) != _kinds(self.first):
            raise SourceError(
                f"{where}: message {len(self.times)} has {_print(_fields(leaves))}; expected "
                f"{_print(self.fields)}, as in earlier messages. Choose entries by name, such as "
                "/joint_states.position[elbow,wrist]."
            )
        self.times.append(time)
        self._values.append(
            [_ordered(leaf, first) for leaf, first in zip(leaves, self.first, strict=True)]
        )

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        """The fields of the first message."""
        return _fields(self.first)

    def streams(self, filling: Filling | None = None) -> list[Stream]:
        """A stream for each vector. Whole numbers and switches hold; others are interpolated."""
        found: list[Stream] = []
        for place, leaf in enumerate(self.first):
            values = np.array([row[place] for row in self._values])
            by_values: Filling = "hold" if values.dtype.kind in "biu" else "line"
            chosen = filling or ("turn" if leaf.rotation else by_values)
            found.append(Stream.sorted(leaf.name, self.times, values, chosen))
        return found


def _ordered(leaf: Leaf, first: Leaf) -> NDArray[np.generic]:
    if leaf.names == first.names:
        return leaf.values
    return leaf.values[[leaf.names.index(name) for name in first.names]]


def _join(streams: Sequence[Stream], times: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.concatenate([stream.at(times) for stream in streams], axis=1).astype(np.float32)


def _fields(leaves: Sequence[Leaf]) -> tuple[FieldSpec, ...]:
    return tuple(FieldSpec(leaf.name, len(leaf.values), leaf.names) for leaf in leaves)


def _kinds(leaves: Sequence[Leaf]) -> list[tuple[str, int, set[str]]]:
    """What must be equal in all messages; names may come in another order."""
    return [(leaf.name, len(leaf.values), {*leaf.names}) for leaf in leaves]


def _print(fields: Sequence[FieldSpec]) -> str:
    return "; ".join(
        f"{field.name} of {field.size}" + (f" ({', '.join(field.names)})" if field.names else "")
        for field in fields
    )
