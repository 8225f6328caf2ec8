"""What pydantic found wrong with a message, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_FORMS = ("one", "many", "named", "ask", "observe", "body", "float", "list[float]", "str")
"""Steps of pydantic's path that name a form of ours and not a place in the message."""
_SHOWN = 3


def explain(errors: Sequence[Mapping[str, Any]]) -> str:
    """Say where, and what was expected; never what came, which may be anything."""
    # A field that is not known comes first: it is often the misspelt one that is then missing.
    errors = sorted(errors, key=lambda error: error["type"] != "extra_forbidden")
    told = list(dict.fromkeys(_one(error) for error in errors))
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more + "."


def _one(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        reason = error.get("ctx", {}).get("error", "")
        return f"the message is not JSON: {str(reason)[:80]}" if reason else "this is not JSON"
    place = ""
    for step in error["loc"]:
        if isinstance(step, int):
            place += f"[{step}]"
        elif step not in _FORMS:
            place += f"{'.' if place else ''}{str(step)[:40]}"
    if error["type"] == "extra_forbidden":
        return f"there is no field {place!r}"
    message = str(error["msg"])
    message = message[:1].lower() + message[1:200]
    return f"{place}: {message}" if place else message
