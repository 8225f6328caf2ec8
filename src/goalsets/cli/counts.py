"""Types of options that count something; numbers that are too small are refused."""

from __future__ import annotations

from typing import Annotated

from tyro.constructors import PrimitiveConstructorSpec


def _at_least(least: int) -> PrimitiveConstructorSpec[int | None]:
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
