"""The goal: choose it, and change its numbers."""

from __future__ import annotations

from collections.abc import Callable

from goalsets.core import GoalsetsError
from goalsets.play.goal import Goal, ready_filters
from goalsets.play.panels.desk import Desk
from goalsets.play.show import Show
from goalsets.play.words import note, problem, sources, title

_ANY = "any"
_OWN = "as typed below"
_NOTHING = "nothing"


class GoalPanel:
    """Draws the goal of a show.

    Args:
        desk: The page.
        offer: Shows the handle of one thing, or hides all handles.
    """

    def __init__(self, desk: Desk, offer: Callable[[str | None], None]) -> None:
        """Add the widgets to the present container."""
        self._desk = desk
        gui = desk.gui
        gui.add_html(note("The goal is the see-through ghost. Choose another one, or drag it."))
        self._title = gui.add_html("")
        takes = {"Official": self._official, "Where it is now": _present}
        if len(desk.setup.shelf.bank):
            takes = {"Another": Show.another_goal, **takes}
        desk.chooses(gui.add_button_group("Take", list(takes)), takes, self._refuse)
        self._error = gui.add_html("")
        if desk.setup.shelf.grips:
            names = [grip.name for grip in desk.setup.shelf.grips]
            drag = gui.add_dropdown("Drag", [_NOTHING, *names], initial_value=handled_first(desk))
            desk.changes(drag, lambda _, name: offer(None if name == _NOTHING else name))
        with gui.add_folder("Choose exactly", expand_by_default=False):
            self._add_choices()
        with gui.add_folder("All its numbers, and where they are from", expand_by_default=False):
            self._sources = gui.add_html("")

    def draw(self, goal: Goal) -> None:
        """Update the widgets to the goal."""
        self._title.content = title(goal)
        self._sources.content = sources(goal)
        self._error.content = ""

    def _add_choices(self) -> None:
        desk, gui, shelf = self._desk, self._desk.gui, self._desk.setup.shelf
        self._task_id = gui.add_dropdown("Official", [str(n) for n in desk.setup.task.goal_numbers])
        desk.changes(self._task_id, lambda show, _: self._official(show), self._refuse)
        if len(shelf.bank):
            count = len(shelf.bank)
            row = gui.add_number(
                "Held-out", 0, min=0, max=count - 1, step=1, hint=f"{count:,} {shelf.bank_name}"
            )
            desk.changes(row, lambda show, n: show.set_goal(shelf.held_out(int(n))), self._refuse)
            self._filter = gui.add_dropdown(
                "Only where", [_ANY, *ready_filters(desk.setup.task), _OWN]
            )
            desk.changes(self._filter, self._choose_filter, self._refuse)
            with gui.add_form(None) as condition_form:
                self._condition = gui.add_text(
                    "Condition",
                    "",
                    hint="Such as block0_pos.z > 0.6; 'Another' then picks such states only.",
                )
            desk.submits(
                condition_form, self._condition, self._set_filter, lambda why, _: self._refuse(why)
            )
        with gui.add_form(None) as edit_form:
            edits = gui.add_text(
                "Set", "", hint="Such as block0_pos.z=6cm; gripper_opening=0. Press Enter."
            )
        desk.submits(edit_form, edits, self._edit, lambda why, _: self._refuse(why))

    def _refuse(self, why: str) -> None:
        self._error.content = problem(why)

    def _official(self, show: Show) -> None:
        show.set_goal(self._desk.setup.shelf.official(int(self._task_id.value), show.seed))

    def _choose_filter(self, show: Show, chosen: str) -> None:
        if chosen != _OWN:
            self._set_filter(show, "" if chosen == _ANY else chosen)

    def _set_filter(self, show: Show, condition: str) -> None:
        self._desk.setup.shelf.rows(condition)  # raises an error if it cannot be read
        show.filter = condition
        known = (_ANY, *ready_filters(self._desk.setup.task))
        self._filter.value = (condition or _ANY) if (condition or _ANY) in known else _OWN
        self._condition.value = condition
        show.another_goal()

    def _edit(self, show: Show, text: str) -> None:
        if not text.strip():
            raise GoalsetsError("type what to set, such as block0_pos.z=6cm.")
        show.set_goal(self._desk.setup.shelf.edit(show.goal, text))


def handled_first(desk: Desk) -> str:
    """The thing whose handle is shown first: the one that the task is about."""
    asked = {term.name for term in desk.setup.task.query.terms}
    grips = desk.setup.shelf.grips
    return next((grip.name for grip in grips if grip.position in asked), grips[0].name)


def _present(show: Show) -> None:
    """Take the state that the first stage is in."""
    stage = show.stages[0]
    layout = show.setup.task.layout
    state = stage.world.observation
    show.set_goal(Goal.whole(layout, state, f"state at step {stage.steps}"))
