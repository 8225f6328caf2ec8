"""The texts of the page of logs, as HTML. All input from people or files is escaped."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from html import escape

import numpy as np

from goalsets.core import Group, StateLayout
from goalsets.core.acting import STEPS
from goalsets.core.durations import duration
from goalsets.play.logs.along import Along, Stands
from goalsets.play.logs.charts import Chart, Line, legend, number
from goalsets.play.logs.setup import LogSetup
from goalsets.play.logs.show import LogShow

LOGGED = "#1f2937"
COLOURS = ("#0f766e", "#c2410c")
"""The colour of each checkpoint."""
_TERMS = ("#0369a1", "#be185d", "#4d7c0f", "#4338ca", "#78350f", "#0f766e", "#c2410c", "#6b7280")
_FAR = 6.0
"""Distances are drawn up to this many tolerances."""
_BOX = "margin:0 .75em .5em;padding:.45em .7em;border-radius:6px;font-size:.85em;line-height:1.35"
_PAD = "margin:0 .75em .4em"


def heading(setup: LogSetup) -> str:
    """The checkpoints, and the data."""
    names = "<br>".join(escape(str(c)) for c in setup.checkpoints)
    return (
        f"<div style='{_PAD};font-size:.85em;line-height:1.35'>"
        f"<h1 class='goalsets-heading'>{escape(setup.task.name)}</h1>"
        "recorded episodes, nothing is simulated<br>"
        f"<span style='color:#4b5563'>{names}</span></div>"
    )


def about_episode(show: LogShow) -> str:
    """The length of the episode, and whether the policies were trained on it."""
    count, rate = show.setup.data.num_episodes, show.setup.rate
    kind = "held-out" if show.setup.held_out else "training"
    text = (
        f"Episode {show.episode_number} of the {count:,} {kind} ones (0 to {count - 1:,}), "
        f"{duration(show.last, rate)}."
    )
    if not show.setup.held_out:
        text += " No episode was held out: the policy has seen this one in training."
    return f"<div style='{_PAD};font-size:.8em;color:#4b5563'>{escape(text)}</div>"


def light(show: LogShow) -> str:
    """Whether the question holds at the cursor, and when the data answers it."""
    along, step, rate = show.along, show.step, show.setup.rate
    left = float(along.left[step])
    if along.inside[step]:
        colour, word, state = "#15803d", "The question is answered here", "met"
    elif np.isfinite(left):
        colour, state = "#b45309", "open"
        word = f"Open: the data answers it in {duration(left, rate)}"
    else:
        colour, state = "#4b5563", "open"
        word = "Open: this episode does not answer it from here on"
    time = "" if rate is None else f" · {step / rate:.2f} s"
    missing = [term.name for term in along.terms if not term.met[step]]
    rest = f"missing: {', '.join(missing)}" if missing else "all terms hold"
    return (
        f"<div data-light='{state}' style='{_BOX};background:{colour};color:white'>"
        f"<span style='font-size:1.1em;font-weight:600'>{escape(word)}</span><br>"
        f"step {step} of {along.steps}{time} · {escape(rest)}</div>"
    )


def terms(along: Along, layout: StateLayout, step: int, rate: float | None) -> str:
    """For each requirement, its distance at the cursor and along the episode."""
    rows: list[str] = []
    for place, term in enumerate(along.terms):
        group = layout.by_name.get(term.name) or Group.loose(int(term.name[1:-1]))
        rows.append(_term_row(group, term, step, _TERMS[place % len(_TERMS)]))
    head = (
        "<tr style='color:#4b5563;text-align:left'><th>requirement</th><th>now</th><th>within</th>"
        "<th>in tolerances</th></tr>"
    )
    table = (
        f"<div style='{_PAD}'><style>.gl td,.gl th{{padding:.15em .35em}}</style><table class='gl' "
        "style='width:100%;border-collapse:collapse;font-size:.8em;"
        f"font-variant-numeric:tabular-nums'>{head}{''.join(rows)}</table>"
    )
    lines = [
        Line(term.name, np.minimum(term.tolerances, _FAR), _TERMS[place % len(_TERMS)])
        for place, term in enumerate(along.terms)
    ]
    chart = Chart(
        "Distance in tolerances",
        lines,
        along.steps,
        step,
        band=along.inside,
        marks=((1.0, "the tolerance"),),
        reading=f"below the red line a term holds; drawn up to {_FAR:.0f}",
        lowest=0.0,
        highest=_FAR,
        height=56,
        axis=True,
    )
    return f"{table}{chart.svg(rate)}</div>"


def _term_row(group: Group, term: Stands, step: int, colour: str) -> str:
    met, apart = bool(term.met[step]), float(term.tolerances[step])
    ink, ground = ("#15803d", "#dcfce7") if met else ("#92400e", "#fef3c7")
    if term.tolerance > 0:
        now, within = _amount(group, float(term.distance[step])), _amount(group, term.tolerance)
        away = number(apart)
    else:
        now, within, away = ("equal" if met else "different"), "equal", "–"
    return (
        f"<tr data-term='{escape(term.name)}' data-met='{str(met).lower()}'>"
        f"<td title='{escape(group.description)}'><span style='color:{colour}'>■</span> "
        f"{escape(term.name)}</td>"
        f"<td style='color:{ink};background:{ground};font-weight:600'>{'✓' if met else '✗'} "
        f"{escape(now)}</td><td style='color:#4b5563'>{escape(within)}</td><td>{away}</td></tr>"
    )


def _amount(group: Group, distance: float) -> str:
    said = group.say(distance)
    if not said:
        return number(distance)
    value, _, unit = said.partition(" ")
    return f"{float(value):.3g} {unit}"


def actions(show: LogShow) -> str:
    """Predicted actions against logged ones, a chart for each component."""
    along, step, setup = show.along, show.step, show.setup
    named = [(c.name if len(setup.checkpoints) > 1 else "predicted") for c in setup.checkpoints]
    keys = [("logged", LOGGED, False)]
    keys += [(name, COLOURS[i], False) for i, name in enumerate(named)]
    keys.append(("bounds", "#b91c1c", True))
    errors = [along.errors(i) for i in range(len(named))]
    charts: list[str] = []
    width = along.episode.actions.shape[1]
    for part in range(width):
        logged = np.asarray(along.episode.actions[:, part])
        lines = [Line("logged", logged, LOGGED)]
        lines += [
            Line(name, said.actions[:, part], COLOURS[i])
            for i, (name, said) in enumerate(zip(named, along.said, strict=True))
        ]
        low, high = setup.bounds.ends(part)
        chart = Chart(
            f"action {part}",
            lines,
            along.steps,
            step,
            band=along.inside,
            marks=((low, f"lowest: {number(low)}"), (high, f"highest: {number(high)}")),
            axis=part == width - 1,
        )
        off = [None if error is None else float(error[part]) for error in errors]
        reading = _reading(chart, off)
        charts.append(dataclasses.replace(chart, reading=reading).svg(setup.rate))
    # In a wide panel, charts are side by side.
    look = f"{_PAD};display:flex;flex-wrap:wrap;column-gap:1em"
    head = f"<div style='flex:1 0 100%'>{legend(keys)}</div>"
    return f"<div data-actions='{width}' style='{look}'>{head}{''.join(charts)}</div>"


def _reading(chart: Chart, errors: Sequence[float | None]) -> str:
    """The values of the curves at the cursor, and the mean errors while the question is open."""
    low, high = chart.span
    if chart.cursor < len(chart.lines[0].values):
        parts = [
            f"<tspan fill='{line.colour}'>{escape(line.name)} "
            f"{number(float(line.values[chart.cursor]), high - low)}</tspan>"
            for line in chart.lines
        ]
    else:
        parts = ["no action follows the last state"]
    known = [number(error, high - low) for error in errors if error is not None]
    if known:
        parts.append(f"mean error {' and '.join(known)}")
    return " · ".join(parts)


def distances(show: LogShow) -> str:
    """Predicted distances and the steps that the data took; empty if none are predicted."""
    along, setup = show.along, show.setup
    told = [
        (i, checkpoint, said.distances)
        for i, (checkpoint, said) in enumerate(zip(setup.checkpoints, along.said, strict=True))
        if said.distances is not None
    ]
    if not told:
        return ""
    several = len(setup.checkpoints) > 1
    lines = [Line(c.name if several else "predicted", values, COLOURS[i]) for i, c, values in told]
    units = list(dict.fromkeys(str(c.unit) for _, c, _ in told))
    if STEPS in units:
        lines.insert(0, Line("the data took", along.left, LOGGED, dashed=True))
    keys = [(line.name, line.colour, line.dashed) for line in lines]
    rate = setup.rate if units == [STEPS] else None
    reading = " · ".join(
        f"<tspan fill='{line.colour}'>{escape(_said(line, show.step, rate))}</tspan>"
        for line in lines
    )
    chart = Chart(
        f"Distance in {' or '.join(units)}",
        lines,
        along.steps,
        show.step,
        band=along.inside,
        reading=reading,
        lowest=0.0 if units == [STEPS] else None,
        height=70,
        axis=True,
    )
    drawn = legend(keys) + chart.svg(setup.rate)
    return f"<div data-distances='{len(told)}' style='{_PAD}'>{drawn}</div>"


def _said(line: Line, step: int, rate: float | None) -> str:
    """The value of a curve of distances at a step, in words."""
    value = float(line.values[step])
    if not np.isfinite(value):
        return f"{line.name}: no answer from here on"
    seconds = "" if rate is None else f" ({value / rate:.2g} s)"
    return f"{line.name} {f'{value:.1f}'.removesuffix('.0')}{seconds}"
