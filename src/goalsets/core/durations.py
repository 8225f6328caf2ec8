"""Durations as text: steps, and seconds if the rate is known."""

from __future__ import annotations


def duration(steps: float, rate: float | None) -> str:
    """Steps as text, with seconds if the rate in steps a second is known."""
    text = f"{steps:,.0f} {'step' if round(steps) == 1 else 'steps'}"
    if rate is None:
        return text
    seconds = steps / rate
    return f"{text} ({seconds:.2g} s)" if seconds < 100 else f"{text} ({seconds:,.0f} s)"
