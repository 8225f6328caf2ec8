"""Numbers in messages: `/joint_states.position`, `/tool.pose`, `/joint_states.position[elbow]`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goalsets.core.errors import suggest
from goalsets.data.sources.bags import Message
from goalsets.data.sources.base import SourceError

_ABOUT = ("header", "stamp", "layout")
"""Fields that describe a message and are not values of it."""
_NAMES = ("name", "joint_names")
"""Fields that name the entries of the other arrays of a message."""
_PART = re.compile(r"(?P<path>[^\[]*)(\[(?P<part>[^\]]+)\])?")


@dataclass(frozen=True)
class Choice:
    """Some numbers of the messages on a topic."""

    text: str
    """The text that the user wrote."""
    topic: str
    path: tuple[str, ...]
    """The fields that lead to them; empty for the whole message."""
    part: tuple[str, ...]
    """Entries of an array, by number, span or name; empty for all."""

    @classmethod
    def parse(cls, text: str, topics: Sequence[str]) -> Choice:
        """Read the user's text, given the topics of a bag."""
        # Try long topics first: one topic may be the beginning of another.
        for topic in sorted(topics, key=len, reverse=True):
            rest = text[len(topic) :]
            found = _PART.fullmatch(rest)
            if text.startswith(topic) and rest[:1] in ("", ".", "[") and found is not None:
                path = tuple(found["path"].split(".")[1:])
                parts = found["part"].split(",") if found["part"] else ()
                return cls(text, topic, path, tuple(part.strip() for part in parts))
        name = re.split(r"[.\[]", text)[0]
        raise SourceError(f"there is no topic {name!r}: {suggest(name, sorted(topics))}")


@dataclass(frozen=True)
class Leaf:
    """A vector in a message."""

    name: str
    values: NDArray[Any]
    rotation: bool = False
    """Whether it is a quaternion."""
    names: tuple[str, ...] = ()
    """A name for each entry, if the message has names."""


def find_leaves(message: Message, choice: Choice) -> list[Leaf]:
    """The chosen vectors of a message; none if the message lacks the entries that are named."""
    node, parent = message, None
    for name in choice.path:
        fields = _fields(node)
        if fields is None or name not in fields:
            raise SourceError(
                f"{choice.text!r}: a message has no {name!r} there: {suggest(name, fields or ())}"
            )
        node, parent = fields[name], fields
    leaves = list(_walk(node, parent, ".".join((choice.topic.strip("/"), *choice.path))))
    if choice.part:
        if len(leaves) != 1:
            raise SourceError(
                f"{choice.text!r}: entries can be chosen from one array, not from {len(leaves)}."
            )
        leaves = [leaf for leaf in (_take(leaves[0], choice),) if leaf is not None]
    elif not any(len(leaf.values) for leaf in leaves):
        raise SourceError(f"{choice.text!r}: a message has no numbers there{_hint(node)}")
    return [leaf for leaf in leaves if len(leaf.values)]


def stamp_of(message: Message) -> int | None:
    """The time in a message's header in nanoseconds, if it has one."""
    header = (_fields(message) or {}).get("header")
    stamp = _fields((_fields(header) or {}).get("stamp"))
    if stamp is None or "sec" not in stamp:
        return None
    return int(stamp["sec"]) * 10**9 + int(stamp.get("nanosec", stamp.get("nsec", 0)))


def _fields(node: object) -> Mapping[str, Any] | None:
    if isinstance(node, Mapping):
        return node
    if dataclasses.is_dataclass(node):
        names = (field.name for field in dataclasses.fields(node))
        # rosbags also stores the type of the message in a field.
        return {name: getattr(node, name) for name in names if not name.startswith("__")}
    return None


def _walk(node: object, parent: Mapping[str, Any] | None, name: str) -> Iterator[Leaf]:
    fields = _fields(node)
    if fields is None:
        values = _numbers(node)
        if values is not None:
            yield Leaf(name, values, names=_names(parent, values))
        return
    inside = {key: value for key, value in fields.items() if key not in _ABOUT}
    if inside and all(_is_number(value) for value in inside.values()):
        values = np.array(list(inside.values()))
        yield Leaf(name, values, rotation=[*inside] == [*"xyzw"])
        return
    for key, value in inside.items():
        yield from _walk(value, fields, f"{name}.{key}")


def _take(leaf: Leaf, choice: Choice) -> Leaf | None:
    """Some entries of an array; None if the message has none of the names."""
    places: list[int] = []
    for part in choice.part:
        span = re.fullmatch(r"(\d*):(\d*)|\d+", part)
        if span is None:
            if part in leaf.names:
                places.append(leaf.names.index(part))
        elif ":" in part:
            places += range(len(leaf.values))[
                slice(*(int(n) if n else None for n in span.groups()))
            ]
        else:
            places.append(int(part))
    if not places:
        return None
    if max(places) >= len(leaf.values) or len(places) < len(choice.part):
        raise SourceError(
            f"{choice.text!r}: a message has {len(leaf.values)} numbers there"
            + (f", of {', '.join(leaf.names)}." if leaf.names else ".")
        )
    names = tuple(leaf.names[place] for place in places) if leaf.names else ()
    return dataclasses.replace(leaf, values=leaf.values[places], names=names)


def _numbers(node: object) -> NDArray[Any] | None:
    """A number or an array of them as a vector; None for text, pictures and lists of messages."""
    if isinstance(node, str | bytes) or node is None:
        return None
    try:
        values = np.asarray(node)
    except ValueError:  # lists of different lengths
        return None
    if values.ndim > 1 or (values.size and values.dtype.kind not in "biuf"):
        return None
    return values.reshape(-1)


def _is_number(value: object) -> bool:
    return isinstance(value, bool | int | float | np.number | np.bool_)


def _names(parent: Mapping[str, Any] | None, values: NDArray[Any]) -> tuple[str, ...]:
    for key in _NAMES:
        names = (parent or {}).get(key)
        if isinstance(names, list) and len(names) == len(values):
            return tuple(str(name) for name in names)
    return ()


def _hint(node: object) -> str:
    fields = _fields(node)
    return f", only {', '.join(fields)}." if fields else "."
