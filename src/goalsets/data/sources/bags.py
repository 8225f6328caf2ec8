"""Bags: messages on topics, in the bags of ROS 2 and in MCAP files.

ROS bags are read with rosbags. MCAP files of other programs are read with mcap. Their messages must
be JSON or messages of ROS 2.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goalsets.core.door import check_regular, parse_json, read_yaml
from goalsets.core.errors import GoalsetsError, suggest
from goalsets.data.sources.base import SourceError, natural, require

# A message: a dictionary, or an object of rosbags with its fields as attributes.
Message = Any
Messages = Generator[tuple[str, int, Message], None, None]

_FILES = (".mcap", ".db3", ".bag")


@dataclass(frozen=True)
class Bag:
    """An open bag."""

    topics: Mapping[str, str]
    """For each topic the type of its messages."""
    read: Callable[[Collection[str]], Messages]
    """Returns the messages of some topics in the order of the log, each with its time in
    nanoseconds."""


def find_bags(paths: Collection[Path]) -> list[Path]:
    """All bags: files, directories that ROS 2 wrote, and the bags inside other directories."""
    if not paths:
        raise SourceError("name one or more bags, or a directory of them.")
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise SourceError(f"there is no file {path}.")
        if not path.is_dir() or _is_bag(path):
            found.append(path)
            continue
        inside = [p for p in path.iterdir() if p.suffix in _FILES or _is_bag(p)]
        if not inside:
            raise SourceError(
                f"{path} holds no bags: expected files *{', *'.join(_FILES)}, or directories with "
                "a metadata.yaml."
            )
        found += sorted(inside, key=lambda p: natural(p.name))
    return found


@contextmanager
def open_bag(path: Path, distro: str) -> Iterator[Bag]:
    """Open a bag. Errors of its libraries, at opening or at reading, are raised with its name.

    Args:
        path: A file, or a directory that ROS 2 wrote.
        distro: The distribution of ROS 2 that defines the messages, if the bag does not.
    """
    _check_files(path)
    highlevel = require("rosbags.highlevel", "ros")
    typestore = _typestore(distro)
    with ExitStack() as stack:
        try:
            # rosbags also uses what a bag says of itself when it closes the bag.
            inner = stack.enter_context(_naming(path, ExitStack()))
            if path.suffix == ".mcap" and _profile(path) != "ros2":
                bag = _open_mcap(path, inner.enter_context(path.open("rb")))
            else:
                reader = highlevel.AnyReader([path], default_typestore=typestore)
                bag = _open_ros(path, inner.enter_context(reader))
            if not all(isinstance(text, str) for pair in bag.topics.items() for text in pair):
                raise SourceError(f"{path}: the names and types of topics must be texts.")
        except GoalsetsError:
            raise
        except Exception as error:  # whatever rosbags, mcap and the libraries below them raise
            raise _damaged(path, error) from None
        yield bag


@contextmanager
def _naming(path: Path, stack: ExitStack) -> Iterator[ExitStack]:
    """A stack whose errors at closing are raised with the name of the bag."""
    try:
        yield stack
    finally:
        try:
            stack.close()
        except Exception as error:  # as above
            raise _damaged(path, error) from None


def _check_files(path: Path) -> None:
    """Refuse pipes, devices and a wrong metadata.yaml before a library opens them."""
    if not path.is_dir():
        check_regular(path, kind=SourceError)
        return
    for inside in sorted(path.iterdir()):
        if not inside.is_dir():
            check_regular(inside, kind=SourceError)
    if not isinstance(read_yaml(path / "metadata.yaml", kind=SourceError), Mapping):
        raise SourceError(f"{path / 'metadata.yaml'}: expected a mapping, as ROS 2 writes it.")


def _open_ros(path: Path, reader: Any) -> Bag:  # noqa: ANN401 - of rosbags
    def read(topics: Collection[str]) -> Messages:
        chosen = [c for c in reader.connections if c.topic in topics]
        try:
            for connection, time, raw in reader.messages(connections=chosen):
                yield connection.topic, time, reader.deserialize(raw, connection.msgtype)
        except Exception as error:  # as above
            raise _damaged(path, error) from None

    return Bag({c.topic: c.msgtype for c in reader.connections}, read)


def _open_mcap(path: Path, file: Any) -> Bag:  # noqa: ANN401 - a binary file
    reader = require("mcap.reader", "ros").make_reader(file)
    summary = reader.get_summary()
    if summary is None:
        raise SourceError(
            f"{path} has no summary: write one with 'mcap recover', which is one of the MCAP tools."
        )
    types = {
        channel.topic: summary.schemas[channel.schema_id].name if channel.schema_id else "no schema"
        for channel in summary.channels.values()
    }

    def read(topics: Collection[str]) -> Messages:
        decoders: dict[int, Callable[[bytes], Message]] = {}
        try:
            for schema, channel, message in reader.iter_messages(topics=list(topics)):
                if channel.id not in decoders:
                    decoders[channel.id] = _decoder(path, schema, channel)
                yield channel.topic, message.log_time, decoders[channel.id](message.data)
        except SourceError:
            raise
        except Exception as error:  # as above
            raise _damaged(path, error) from None

    return Bag(types, read)


def _decoder(path: Path, schema: Any, channel: Any) -> Callable[[bytes], Message]:  # noqa: ANN401
    """The function that decodes the messages of a channel of an MCAP file."""
    if channel.message_encoding == "json":
        return functools.partial(parse_json, place=f"{path}: a message on {channel.topic!r}")
    if channel.message_encoding == "cdr" and schema is not None and schema.encoding == "ros2msg":
        typesys = require("rosbags.typesys", "ros")
        store = typesys.get_typestore(typesys.Stores.EMPTY)
        store.register(typesys.get_types_from_msg(schema.data.decode(), schema.name))
        return lambda data: store.deserialize_cdr(data, schema.name)
    raise SourceError(
        f"{path}: the messages on {channel.topic!r} are encoded as {channel.message_encoding!r}; "
        "expected messages of ROS 2, or JSON."
    )


def _is_bag(path: Path) -> bool:
    return (path / "metadata.yaml").is_file()


def _profile(path: Path) -> str:
    with path.open("rb") as file:
        return require("mcap.reader", "ros").make_reader(file).get_header().profile


def _typestore(distro: str) -> Any:  # noqa: ANN401 - of rosbags
    typesys = require("rosbags.typesys", "ros")
    known = {
        store.name.removeprefix("ROS2_").lower(): store
        for store in typesys.Stores
        if store.name.startswith("ROS2_")
    }
    if distro not in known:
        raise SourceError(f"unknown distribution of ROS 2 {distro!r}: {suggest(distro, known)}")
    return typesys.get_typestore(known[distro])


def _damaged(path: Path, error: Exception) -> SourceError:
    told = " ".join(str(error).split()) or type(error).__name__
    return SourceError(f"{path} cannot be read as a bag, or is damaged: {told.rstrip('.')}.")
