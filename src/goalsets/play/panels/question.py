"""The question: ready-made questions, text, chips and tolerances, all of one query."""

from __future__ import annotations

from typing import Any

import numpy as np

from goalsets.core import Group, Query
from goalsets.play.panels.desk import CHOSEN, Desk
from goalsets.play.question import slider_scale
from goalsets.play.show import Show
from goalsets.play.words import meaning, note, problem

_OWN = "a question of your own"
_ON, _OFF = (15, 118, 110), (229, 232, 236)


class QuestionPanel:
    """Draws the question of a show."""

    def __init__(self, desk: Desk) -> None:
        """Add the widgets to the present container."""
        self._desk = desk
        gui = desk.gui
        layout = desk.setup.task.layout
        gui.add_html(note("Tick what counts. All else may be anywhere."))
        self._names = {Query.parse(ready.text, layout): ready.label for ready in desk.setup.ready}
        self._texts = {ready.label: ready.text for ready in desk.setup.ready}
        self._ready = gui.add_dropdown("Ready-made", [_OWN, *self._texts], initial_value=_OWN)
        desk.changes(self._ready, self._pick, self._refuse)
        with gui.add_form(None) as form:
            self._text = gui.add_text(
                "As text", "", hint="'&' joins, '-' removes, ':' sets a tolerance. Press Enter."
            )
        self._error = gui.add_html("")
        usual = _usual(desk)
        self._chips = {name: self._add_chip(layout.by_name[name]) for name in usual}
        rest = [group for group in layout.groups if group.name not in usual]
        if rest:
            with gui.add_folder("The rest of the state", expand_by_default=False):
                self._chips |= {group.name: self._add_chip(group) for group in rest}
        self._drawn: Query | None = None
        desk.submits(form, self._text, self._say, self._refuse_text)

    def draw(self, show: Show) -> None:
        """Update chips, sliders and text if the query has changed.

        Otherwise they are left alone, because a person may be typing.
        """
        question = show.question
        if question.query == self._drawn:
            return
        self._drawn = question.query
        self._text.value = str(question.query)
        self._ready.value = self._names.get(question.query, _OWN)
        for name, (chip, slider) in self._chips.items():
            on = question.asks(name)
            chip.color = _ON if on else _OFF
            chip.label = _label(question.layout.by_name[name], on)
            if slider is not None:
                slider.visible = on
                value = question.tolerance(name)
                if on and value is not None:
                    slider.value = min(max(value, slider.min), slider.max)
        self._error.content = ""

    def _refuse(self, why: str) -> None:
        self._error.content = problem(why)

    def _refuse_text(self, why: str, text: str) -> None:
        """Show why a text was refused; it stays in its field, to be corrected."""
        self._refuse(why)
        self._text.value = text

    def _add_chip(self, group: Group) -> tuple[Any, Any]:
        gui = self._desk.gui
        chip = gui.add_button(_label(group, False), color=_OFF, hint=group.description or None)
        self._desk.clicks(chip, lambda show: self._switch(show, group.name), self._refuse)
        scale = slider_scale(group)
        if scale is None:
            return chip, None
        slider = gui.add_slider(
            f"within {scale.unit}".strip(),
            min=round(scale.step, 6),
            max=scale.highest,
            step=round(scale.step, 6),
            initial_value=scale.highest,
            visible=False,
        )
        self._desk.changes(
            slider, lambda show, value: self._tolerate(show, group.name, value), self._refuse
        )
        return chip, slider

    def _switch(self, show: Show, name: str) -> None:
        show.question.switch(name, not show.question.asks(name))
        show.ask()

    def _tolerate(self, show: Show, name: str, value: float) -> None:
        if show.question.asks(name):
            show.question.tolerate(name, value)
            show.ask()

    def _pick(self, show: Show, label: str) -> None:
        if label in self._texts:
            show.question.say(self._texts[label])
            show.ask()

    def _say(self, show: Show, text: str) -> None:
        show.question.say(text)
        self._drawn = None
        show.ask()


def _usual(desk: Desk) -> list[str]:
    """The groups in the ready-made questions, apart from the one that asks for everything."""
    layout = desk.setup.task.layout
    asked = np.zeros(layout.dim, dtype=np.bool_)
    for ready in desk.setup.ready:
        query = Query.parse(ready.text, layout)
        if not query.mask.all() or len(desk.setup.ready) == 1:
            asked |= query.mask
    return [g.name for g in layout.groups if asked[list(g.indices)].any()]


def _label(group: Group, on: bool) -> str:
    words = meaning(group)
    said = f"{group.name} · {words}" if words else group.name
    return CHOSEN + said if on else said
