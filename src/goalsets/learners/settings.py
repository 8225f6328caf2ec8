"""Settings of learners: each has its type and its range beside it.

    @dataclass(frozen=True)
    class MyConfig(Settings):
        discount: Annotated[float, Meta(ge=0.001, le=1)] = 0.99
        \"\"\"γ: how much a later step counts.\"\"\"

`Meta` is msgspec's: `gt` and `ge` give the smallest number, `lt` and `le` the largest. A value
outside is an error when the configuration is made in Python, when a run or a sweep is read from a
file, and on the command line. A range is meant for values that make no sense or that fill memory; a
bad hyperparameter is in range.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Meta

from goalsets.core import GoalsetsError


@dataclass(frozen=True)
class Settings:
    """The base of a learner's configuration: it checks types and ranges."""

    def __post_init__(self) -> None:
        """Check every field. A configuration with checks of its own calls this first."""
        names = [field.name for field in dataclasses.fields(self)]
        check_settings(type(self), {name: getattr(self, name) for name in names})


def check_settings(config: type, values: Mapping[str, Any], owner: str = "") -> None:
    """Raise an error for a value that does not fit the type or the range of its field.

    Args:
        config: The configuration, a dataclass.
        values: Values by the names of fields.
        owner: What has the settings, for messages: "gcbc's ".
    """
    types = types_of(config)
    for name, value in values.items():
        if not _fits(value, types[name]):
            expected = " or ".join(_told(types[name]))
            raise GoalsetsError(f"{owner}{name} needs {expected}, got {value!r}.")


@functools.cache
def types_of(config: type) -> dict[str, Any]:
    """The types of a configuration's fields, with their ranges."""
    return get_type_hints(config, include_extras=True)


def _fits(value: object, wanted: Any) -> bool:  # noqa: ANN401 - a type, as an annotation says it
    if get_origin(wanted) is Annotated:
        return _fits(value, wanted.__origin__) and all(
            _is_within(value, each) for each in _ranges(wanted)
        )
    if get_origin(wanted) in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(wanted))
    if get_origin(wanted) is Literal:
        return value in get_args(wanted)
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    # A configuration is a JSON file: for a list, only the type `list` is checked here.
    plain = get_origin(wanted) or wanted
    return wanted is Any or type(value) is plain or (plain is tuple and type(value) is list)


def _is_within(value: Any, limits: Meta) -> bool:  # noqa: ANN401 - a value of the declared type
    """Whether a value is in a range; not-a-number is in none."""
    if value is None:
        return True
    return all(
        (
            limits.gt is None or value > limits.gt,
            limits.ge is None or value >= limits.ge,
            limits.lt is None or value < limits.lt,
            limits.le is None or value <= limits.le,
        )
    )


def _ranges(wanted: Any) -> list[Meta]:  # noqa: ANN401 - as above
    return [each for each in wanted.__metadata__ if isinstance(each, Meta)]


def _told(wanted: Any) -> list[str]:  # noqa: ANN401 - as above
    """The values that a type allows, as text for people."""
    if get_origin(wanted) is Annotated:
        within = "".join(_range_in_words(each) for each in _ranges(wanted))
        return [text if text == "null" else text + within for text in _told(wanted.__origin__)]
    if get_origin(wanted) in (Union, UnionType):
        return [text for each in get_args(wanted) for text in _told(each)]
    if get_origin(wanted) is Literal:
        return [repr(choice) for choice in get_args(wanted)]
    words = {float: "a number", int: "a whole number", bool: "true or false", NoneType: "null"}
    plain = get_origin(wanted) or wanted
    return [words.get(plain) or f"a value of type {getattr(plain, '__name__', plain)}"]


def _range_in_words(limits: Meta) -> str:
    """Such as " above 0 and up to 1"."""
    bounds = {"above": limits.gt, "of at least": limits.ge, "below": limits.lt, "up to": limits.le}
    said = [f"{word} {bound:,}" for word, bound in bounds.items() if bound is not None]
    return " " + " and ".join(said) if said else ""
