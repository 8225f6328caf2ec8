"""The texts of the page, as HTML. All input from people or files is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from goalsets.core import Group, StateLayout, Violation
from goalsets.evaluate.conditions import part_names
from goalsets.plan import Step
from goalsets.play.goal import FOLLOWS, Goal
from goalsets.play.setup import Setup, Support
from goalsets.play.stage import View

_GREEN, _AMBER, _RED, _GREY = "#166534", "#92400e", "#991b1b", "#4b5563"
"""Dark enough to be read on white and on the pale backgrounds below."""
_NUMBERED = re.compile(r" of (the )?(cube|block|button)( \d+)?$")
"""A group's name already says which object: `block0_pos` needs no "of cube 0"."""
_ROWS = 9
"""Requirements that a table has room for."""
_BOX = "margin:0 .75em .5em;padding:.5em .7em;border-radius:6px;font-size:.85em;line-height:1.35"
_TABLE = "width:100%;border-collapse:collapse;font-size:.8em;font-variant-numeric:tabular-nums"


def heading(setup: Setup) -> str:
    """The checkpoints, and what to do."""
    names = " against ".join(escape(str(c)) for c in setup.checkpoints)
    return _plain(
        f"<h1 class='goalsets-heading'>{escape(setup.task.name)}</h1>"
        f"<span style='color:{_GREY}'>{names}</span>"
    )


def meaning(group: Group) -> str:
    """A short description of a group that does not repeat its name."""
    return _NUMBERED.sub("", group.description.removesuffix(" (cos, sin)").rstrip("."))


def title(goal: Goal) -> str:
    """What the goal is."""
    return _plain(f"Now: <b>{escape(goal.title)}</b>")


def note(text: str) -> str:
    """A line of explanation."""
    return _plain(f"<span style='color:{_GREY}'>{escape(text)}</span>")


def problem(text: str) -> str:
    """An error message; nothing if the text is empty."""
    if not text:
        return ""
    first, *others = text.rstrip().split("\n")
    shown = escape(first)
    if others:  # the parser points at a column, which needs a monospaced font
        shown += (
            f"<pre style='margin:.3em 0 0;overflow-x:auto'>{escape(chr(10).join(others))}</pre>"
        )
    look = f"{_BOX};background:#fee2e2;color:{_RED}"
    return f"<div role='alert' data-problem='' style='{look}'>{shown}</div>"


def light(views: Sequence[View], ending: str | None, playing: bool) -> str:
    """The success lights: whether the goal set was reached, and whether it holds now."""
    return "".join(_one_light(view, len(views) > 1, ending, playing) for view in views)


def _one_light(view: View, named: bool, ending: str | None, playing: bool) -> str:
    name = f"{escape(view.name)}: " if named else ""
    if view.reached_at is not None:
        colour, word = "#15803d", f"Reached at step {view.reached_at}"
    elif ending == "time is up":
        colour, word = "#b91c1c", "Not reached: time is up"
    else:
        colour, word = ("#b45309", "On its way") if playing else ("#4b5563", "Not reached yet")
    now = "holds now" if view.inside else "does not hold now"
    return (
        f"<div data-light='{'reached' if view.reached_at is not None else 'open'}' "
        f"style='{_BOX};background:{colour};color:white'>"
        f"<span style='font-size:1.25em;font-weight:600'>{name}{word}</span><br>"
        f"step {view.step} · the question {now}</div>"
    )


def violations(views: Sequence[View], layout: StateLayout) -> str:
    """For each requirement, its distance from satisfied; green if it holds."""
    names = [f"<th>{escape(v.name)}</th>" for v in views]
    head = (
        "<th>asked for</th>"
        + ("".join(names) if len(views) > 1 else "<th>now</th>")
        + "<th>within</th>"
    )
    found = list(zip(*(view.violations() for view in views), strict=True))
    # If there is no room for all, requirements that do not hold come first.
    order = sorted(found, key=lambda terms: all(bool(t.satisfied) for t in terms))
    shown = found if len(found) <= _ROWS else order[:_ROWS]
    rows = [_violation_row(terms, layout) for terms in shown]
    if len(found) > _ROWS:
        hidden = order[_ROWS:]
        met = sum(all(bool(t.satisfied) for t in terms) for terms in hidden)
        rows.append(
            f"<tr><td colspan='3' style='color:{_GREY}'>and {len(hidden)} more, {met} of them "
            "satisfied</td></tr>"
        )
    return _table(head, rows)


def _violation_row(terms: Sequence[Violation], layout: StateLayout) -> str:
    group = layout.by_name.get(terms[0].name) or Group.loose(int(terms[0].name[1:-1]))
    cells = "".join(_distance_cell(group, term) for term in terms)
    within = "equal" if group.metric == "exact" else _amount(group, terms[0].tolerance)
    return (
        f"<tr><td title='{escape(meaning(group))}'>{escape(terms[0].name)}</td>{cells}"
        f"<td style='color:{_GREY}'>{within}</td></tr>"
    )


def sources(goal: Goal) -> str:
    """Every number of the goal, and its source."""
    rows: list[str] = []
    for group in goal.layout.groups:
        values = goal.state[list(group.indices)]
        source = goal.sources[group.name]
        own = source in ("dragged", "typed", FOLLOWS)
        colour = _AMBER if own else _GREY
        parts = ", ".join(part_names(group))
        rows.append(
            f"<tr><td title='{escape(parts)}'>{escape(group.name)}</td>"
            f"<td>{_numbers(values)}</td><td style='color:{colour}'>{escape(source)}</td></tr>"
        )
    if "rest" in goal.sources:
        loose = [i for i, owner in enumerate(goal.layout.owners) if owner is None]
        rows.append(
            f"<tr><td>the rest</td><td>{_numbers(goal.state[loose])}</td>"
            f"<td style='color:{_GREY}'>{escape(goal.sources['rest'])}</td></tr>"
        )
    return _table("<th>group</th><th>numbers</th><th>from</th>", rows)


def support(found: Support | None) -> str:
    """What the data says about the question."""
    if found is None:
        return note("Counting the states in the data that answer this question…")
    warnings = "".join(
        f"<div style='color:{_AMBER};margin-top:.3em'>⚠ {escape(text)}</div>"
        for text in found.warnings
    )
    return _plain(f"{escape(found.text)}{warnings}")


_MARKS = {"done": ("✓", _GREEN), "due": ("▶", _AMBER), "to come": ("○", _GREY)}


def plans(views: Sequence[View]) -> str:
    """The plans: steps that are done, the current step, and those to come."""
    told = "".join(_one_plan(view, len(views) > 1) for view in views)
    return _plain(told)


def _one_plan(view: View, named: bool) -> str:
    head = f"<div style='margin-top:.4em'><b>{escape(view.name)}</b></div>" if named else ""
    chain = view.chain
    if chain is None:
        return head + _grey("This run has no planner: it is asked for everything at once.")
    plan = chain.plan
    if not plan.found:
        why = plan.missing.rstrip(".")
        return (
            f"{head}<div data-plan='missing' style='color:{_AMBER}'>No plan: {escape(why)}. "
            "Everything is asked for at once.</div>"
        )
    if not plan.steps:
        holds = "The question holds already: there is nothing to plan."
        return head + _grey(holds if view.inside else "No step is left: everything is asked for.")
    at = len(plan.steps) if view.inside else chain.at
    steps = [_plan_step(n, step, at, n in chain.own) for n, step in enumerate(plan.steps)]
    end = f"About {_count(plan.price)} steps in all."
    if at == len(plan.steps) and not view.inside:
        end = "All steps are done. Now everything is asked for at once."
    if chain.plans > 1:
        end += (
            f" This is plan {chain.plans}: a new one is made when something is lost or a step "
            "takes too long."
        )
    return head + "".join(steps) + _grey(end)


def _plan_step(number: int, step: Step, at: int, own: bool) -> str:
    state = "done" if number < at else "due" if number == at else "to come"
    mark, colour = _MARKS[state]
    facts = [f"about {_count(step.steps)} steps", step.evidence]
    if own:
        facts[1:] = ["your step"]
    elif step.aside:
        facts.insert(0, "on the way")
    weight = "600" if state == "due" else "400"
    return (
        f"<div data-step='{state}' style='display:flex;margin:.25em 0'>"
        f"<div style='width:1.4em;flex:none;color:{colour}'>{mark}</div>"
        f"<div><span style='font-weight:{weight}'>{number + 1}. {escape(step.asked)}</span><br>"
        f"<span style='color:{_GREY}'>{escape(' · '.join(facts))}</span></div></div>"
    )


def _count(steps: float) -> str:
    return f"{steps:,.0f}" if np.isfinite(steps) else "unknown"


def _grey(text: str) -> str:
    return f"<div style='color:{_GREY}'>{escape(text)}</div>"


def _distance_cell(group: Group, term: Violation) -> str:
    met = bool(term.satisfied)
    colour, ground = (_GREEN, "#dcfce7") if met else (_AMBER, "#fef3c7")
    if group.metric == "exact":
        text = "equal" if met else "different"
    else:
        text = _amount(group, float(term.distance))
    return (
        f"<td data-met='{str(met).lower()}' style='color:{colour};background:{ground};"
        f"font-weight:600'>{'✓' if met else '✗'} {text}</td>"
    )


def _amount(group: Group, distance: float) -> str:
    """A distance in few digits, in the group's unit if it has one."""
    said = group.say(distance)
    number, _, unit = said.partition(" ") if said else (f"{distance}", "", "")
    value = float(number)
    if unit == "cm" and value >= 100:
        value, unit = value / 100, "m"
    return escape(f"{value:.3g} {unit}".strip())


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{v:.2f}" for v in np.asarray(list(values), dtype=float))


def _table(head: str, rows: Sequence[str]) -> str:
    styled = "".join(rows).replace("<td", "<td valign='top' class='gs'")
    css = "<style>.gs,.gsh th{padding:.18em .35em;text-align:left}</style>"
    return (
        f"{css}<div style='margin:0 .75em .5em'><table style='{_TABLE}'>"
        f"<tr class='gsh' style='color:{_GREY}'>{head}</tr>{styled}</table></div>"
    )


def _plain(html: str) -> str:
    return f"<div style='margin:0 .75em .5em;font-size:.85em;line-height:1.35'>{html}</div>"
