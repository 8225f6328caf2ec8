"""Types of options that count something; numbers that are too small or large are refused."""

from __future__ import annotations

from typing import Annotated

from tyro.constructors import PrimitiveConstructorSpec


def _at_least(least: int, most: int | None = None) -> PrimitiveConstructorSpec[int | None]:
    def read(words: list[str]) -> int | None:
        (word,) = words
        if word == "None":
            return None
        try:
            count = int(word)
        except ValueError:
            raise ValueError(f"expected a whole number, got '{word}'") from None
        if count < least:
            raise ValueError(f"expected {least} or more, got {count}")
        if most is not None and count > most:
            raise ValueError(f"expected {most} or less, got {count}")
        return count

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=read,
        is_instance=lambda value: value is None or isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    )


Count = Annotated[int, _at_least(1)]
"""One or more."""
OptionalCount = Annotated[int | None, _at_least(1)]
"""One or more, or not given."""
# For a plain union with None, tyro's error would list Python types instead of what to type.
Size = Annotated[int, _at_least(0)]
"""Zero or more, such as a seed."""
OptionalSize = Annotated[int | None, _at_least(0)]
"""Zero or more, or not given."""
Port = Annotated[int, _at_least(0, 65_535)]
"""A port of this machine; 0 takes any that is free."""
