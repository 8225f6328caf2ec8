"""The panels of a page of logs: episode, time, goal, and what the policies say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goalsets.play.goal import Goal
from goalsets.play.logs import words
from goalsets.play.logs.show import LogShow
from goalsets.play.panels.desk import Desk
from goalsets.play.setup import Support
from goalsets.play.show import SPEEDS
from goalsets.play.words import note, problem, sources, support, title


class EpisodePanel:
    """Chooses the episode."""

    def __init__(self, desk: Desk, count: int) -> None:
        """Add the widgets to the present container."""
        gui = desk.gui
        self._about = gui.add_html("")
        self._number = gui.add_number("Episode", 0, min=0, max=count - 1, step=1)
        desk.changes(self._number, _choose, self._refuse)
        if count > 1:
            desk.chooses(
                gui.add_button_group("Go to", ["Previous", "Next"]),
                {"Previous": _beside(-1), "Next": _beside(1)},
                self._refuse,
            )
        self._error = gui.add_html("")

    def draw(self, show: LogShow) -> None:
        """Update the widgets."""
        self._number.value = show.episode_number
        self._about.content = words.about_episode(show)
        self._error.content = ""

    def _refuse(self, why: str) -> None:
        self._error.content = problem(why)


class TimePanel:
    """Play, pause, and go to a step."""

    def __init__(self, desk: Desk, last: int) -> None:
        """Add the widgets to the present container."""
        gui = desk.gui
        self._play = gui.add_button("Play", color="green")
        desk.clicks(self._play, _toggle)
        self._step = gui.add_slider("Step", min=0, max=max(1, last), step=1, initial_value=0)
        desk.changes(self._step, _seek)
        speed = gui.add_dropdown("Speed", list(SPEEDS), initial_value="1×")
        desk.changes(speed, _set_speed)
        self._light = gui.add_html("")

    def draw(self, show: LogShow) -> None:
        """Update the widgets."""
        self._play.label = "Pause" if show.playing else "Play"
        self._play.color = "yellow" if show.playing else "green"
        self._step.max = max(1, show.last)
        self.follow(show)

    def follow(self, show: LogShow) -> None:
        """Update what changes with every step."""
        if self._step.value != show.step:
            self._step.value = show.step
        self._light.content = words.light(show)


class LogGoalPanel:
    """Chooses and changes the goal."""

    def __init__(self, desk: Desk) -> None:
        """Add the widgets to the present container."""
        gui = desk.gui
        gui.add_html(note("A full recorded state. The question says which part of it counts."))
        self._title = gui.add_html("")
        takes: dict[str, Callable[[Any], None]] = {
            "End": LogShow.take_end,
            "This step": _take_here,
            "Another": LogShow.take_another,
        }
        buttons = gui.add_button_group(
            "Take", list(takes), hint="The end or this step of the episode, or any held-out state."
        )
        desk.chooses(buttons, takes, self._refuse)
        self._error = gui.add_html("")
        with gui.add_folder("Choose exactly", expand_by_default=False):
            self._step = gui.add_number("Step of this", 0, min=0, step=1)
            desk.changes(self._step, _take_step, self._refuse)
            layout = desk.setup.task.layout
            example = layout.groups[0].name if layout.groups else "[0]"
            hints = {"Held-out": "bank:17, or a condition such as [0] > 0.1. Press Enter."}
            hints["Set"] = f"Such as {example}=0, with ';' between several. Press Enter."
            commands: dict[str, Any] = {"Held-out": LogShow.take_held_out, "Set": LogShow.edit_goal}
            for label, command in commands.items():
                with gui.add_form(None) as form:
                    field = gui.add_text(label, "", hint=hints[label])
                desk.submits(form, field, command, lambda why, _: self._refuse(why))
        with gui.add_folder("All its numbers, and where they are from", expand_by_default=False):
            self._sources = gui.add_html("")
        self._drawn: Goal | None = None

    def draw(self, show: LogShow) -> None:
        """Update the widgets to the goal."""
        self._error.content = ""
        if show.goal is self._drawn:
            return
        self._drawn = show.goal
        self._title.content = title(show.goal)
        self._sources.content = sources(show.goal)
        self._step.max = show.last
        if show.goal_step is not None:
            self._step.value = show.goal_step

    def _refuse(self, why: str) -> None:
        self._error.content = problem(why)


class SaysPanel:
    """What the policies say: actions, distances, the status of the question, and the data."""

    def __init__(self, desk: Desk) -> None:
        """Add the widgets to the present container."""
        gui = desk.gui
        self._problem = gui.add_html("")
        with gui.add_folder("Actions: predicted and logged"):
            self._actions = gui.add_html("")
        with gui.add_folder("Distance: predicted, and steps that the data took"):
            self._distances = gui.add_html("")
        with gui.add_folder("How the question stands"):
            self._terms = gui.add_html("")
        with gui.add_folder("What the data says about the question"):
            self._support = gui.add_html(support(None))
            self._note = gui.add_html("")

    def draw(self, show: LogShow) -> None:
        """Update charts and tables."""
        along = show.along
        broken = [
            c.name
            for c, said in zip(show.setup.checkpoints, along.said, strict=True)
            if not said.finite
        ]
        self._problem.content = problem(
            f"{' and '.join(broken)} answered with numbers that are not finite." if broken else ""
        )
        self._actions.content = words.actions(show)
        told = words.distances(show)
        self._distances.content = told or note("This learner predicts no distances.")
        self._terms.content = words.terms(along, show.setup.layout, show.step, show.setup.rate)
        assumed = show.question.note
        self._note.content = note(assumed) if assumed else ""

    def say_support(self, found: Support | None) -> None:
        """Show what the data says; None while that is being counted."""
        self._support.content = support(found)


# The desk is typed for the playground's own `Show`; here its commands get a `LogShow`.


def _beside(by: int) -> Callable[[Any], None]:
    def go(show: LogShow) -> None:
        show.choose((show.episode_number + by) % show.setup.data.num_episodes)

    return go


def _choose(show: Any, number: float) -> None:  # noqa: ANN401 - as above
    show.choose(int(number))


def _take_step(show: Any, step: float) -> None:  # noqa: ANN401 - as above
    show.take_step(int(step))


def _toggle(show: Any) -> None:  # noqa: ANN401 - as above
    if show.playing:
        show.pause()
    else:
        show.play()


def _seek(show: Any, value: float) -> None:  # noqa: ANN401 - as above
    show.pause()
    show.seek(int(value))


def _set_speed(show: Any, name: str) -> None:  # noqa: ANN401 - as above
    show.speed = SPEEDS[name]


def _take_here(show: LogShow) -> None:
    show.take_step(show.step)
