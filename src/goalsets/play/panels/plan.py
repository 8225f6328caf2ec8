"""The plan: a switch, the steps with ticks, and ways to change them."""

from __future__ import annotations

from collections.abc import Sequence

from goalsets.play import planning
from goalsets.play.panels.desk import Command, Desk
from goalsets.play.show import Show
from goalsets.play.stage import View
from goalsets.play.words import note, plans, problem

_OFF = "Off: everything is asked for at once."
_NONE = "no step is left"
_WIDTH = 38
"""Characters of a step that the list has room for."""


class PlanPanel:
    """Draws the plans of a show; only for setups with a planner."""

    def __init__(self, desk: Desk) -> None:
        """Add the widgets to the present container."""
        gui = desk.gui
        self._steps: dict[str, tuple[int, int]] = {}
        self._keep: tuple[int, int] | None = None
        self._switch = gui.add_checkbox(
            "Plan", False, hint="Ask for one part after another, in an order that the data shows."
        )
        desk.changes(self._switch, planning.switch, self._refuse)
        self._plan = gui.add_html(note(_OFF))
        self._error = gui.add_html("")
        self._editor = gui.add_folder("Change the plan", expand_by_default=False, visible=False)
        with self._editor:
            self._list = gui.add_dropdown("Step", [_NONE])
            edits: dict[str, Command] = {
                "Earlier": lambda show: self._move(show, -1),
                "Later": lambda show: self._move(show, 1),
                "Drop": self._drop,
            }
            desk.chooses(gui.add_button_group("Do", list(edits)), edits, self._refuse)
            self._begin = gui.add_button("Insert a step of your own")
            desk.clicks(self._begin, planning.begin_step, self._refuse)
            self._told = gui.add_html("", visible=False)
            ends: dict[str, Command] = {
                "Insert it": planning.insert_step,
                "Cancel": Show.drop_draft,
            }
            self._end = gui.add_button_group("New step", list(ends), visible=False)
            desk.chooses(self._end, ends, self._refuse)
        self._told.content = note(
            "Goal and question on the left are now those of the new step. Set them, then insert "
            "it before the current step. Meanwhile the robot follows the plan."
        )

    def draw(self, show: Show) -> None:
        """Update everything, including the editor."""
        self._error.content = ""
        self._switch.value = show.planning
        self._editor.visible = show.planning
        drafting = show.draft is not None
        self._begin.visible = not drafting
        self._told.visible = self._end.visible = drafting
        self.follow(show)

    def follow(self, show: Show) -> None:
        """Tick off what is done."""
        views = show.views()
        planned = show.planning or any(view.chain is not None for view in views)
        self._plan.content = plans(views) if planned else note(_OFF)
        self._draw_list({} if show.replay is not None else _left(views))

    def _draw_list(self, steps: dict[str, tuple[int, int]]) -> None:
        if steps == self._steps:
            return
        # A step that was moved stays selected, so that it can be moved again.
        kept = next((label for label, step in steps.items() if step == self._keep), None)
        chosen, self._keep = kept or self._list.value, None
        self._steps = steps
        labels = tuple(steps) or (_NONE,)
        self._list.options = labels
        self._list.value = chosen if chosen in labels else labels[0]

    def _refuse(self, why: str) -> None:
        self._error.content = problem(why)

    def _chosen(self) -> tuple[int, int]:
        return self._steps.get(self._list.value, (0, -1))

    def _move(self, show: Show, by: int) -> None:
        stage, number = self._chosen()
        planning.change(show, stage, lambda course, state: course.move(number, by, state))
        self._keep = stage, number + by

    def _drop(self, show: Show) -> None:
        stage, number = self._chosen()
        planning.change(show, stage, lambda course, state: course.drop(number, state))


def _left(views: Sequence[View]) -> dict[str, tuple[int, int]]:
    """The remaining steps by their texts: the stage and the number of each."""
    found: dict[str, tuple[int, int]] = {}
    for stage, view in enumerate(views):
        if view.chain is not None and not view.inside:
            name = f"{view.name}: " if len(views) > 1 else ""
            for number in view.chain.left:
                said = f"{number + 1}. {view.chain.plan.steps[number].asked}"
                said = said if len(said) <= _WIDTH else f"{said[: _WIDTH - 1]}…"
                found[name + said] = (stage, number)
    return found
