"""The controls: play, pause, step, reset, speed, and a push; and the success light."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goalsets.play.panels.desk import CHOSEN, Desk
from goalsets.play.show import SPEEDS, Show
from goalsets.play.words import light


class RunPanel:
    """Draws the controls of a show, and its light."""

    def __init__(self, desk: Desk, pushes: str | None) -> None:
        """Add the widgets to the present container."""
        gui = desk.gui
        self._play = gui.add_button("Play", color="green")
        desk.clicks(self._play, _toggle)
        controls: dict[str, Callable[[Show], None]] = {"Step": _step, "Reset": Show.start}
        if pushes is not None:
            controls[f"Push the {pushes}"] = Show.push
        desk.chooses(gui.add_button_group("Control", list(controls)), controls)
        self._speed = gui.add_button_group(
            "Speed", list(SPEEDS), hint="1× is real time; max is as fast as the simulator goes."
        )
        desk.chooses(self._speed, {name: _at_speed(speed) for name, speed in SPEEDS.items()})
        self._light = gui.add_html("")

    def draw(self, show: Show) -> None:
        """Update the controls."""
        self._play.label = "Pause" if show.playing else _play_label(show)
        self._play.color = "yellow" if show.playing else "green"
        speeds = tuple(
            CHOSEN + name if speed == show.speed else name for name, speed in SPEEDS.items()
        )
        if self._speed.options != speeds:
            self._speed.options = speeds
        self.follow(show)

    def follow(self, show: Show) -> None:
        """Update the light."""
        self._light.content = light(show.views(), show.ending, show.playing)


class StartPanel:
    """Draws where episodes start and when they stop."""

    def __init__(self, desk: Desk) -> None:
        """Add the widgets to the present container."""
        gui = desk.gui
        numbers = [str(n) for n in desk.setup.task.goal_numbers]
        start = gui.add_dropdown("Start of task", numbers)
        desk.changes(start, lambda show, task_id: show.start(task_id=int(task_id)))
        seed = gui.add_number("Variation", 0, min=0, max=999_999, step=1)
        desk.changes(seed, lambda show, value: show.start(seed=int(value)))
        stop = gui.add_checkbox("Stop when reached", True)
        desk.changes(stop, _set_stop)
        endless = gui.add_checkbox(
            "Keep going", False, hint="After each episode, begin another with a new start and goal."
        )
        desk.changes(endless, _set_endless)


def _play_label(show: Show) -> str:
    if show.replay is not None:
        return "Play the recording"
    return "Play again" if show.ending == "reached" else "Play"


def _toggle(show: Show) -> None:
    if show.playing:
        show.pause()
    else:
        show.play()


def _step(show: Show) -> None:
    show.pause()
    show.step()


def _at_speed(speed: float) -> Any:  # noqa: ANN401 - a command
    def set_speed(show: Show) -> None:
        show.speed = speed

    return set_speed


def _set_stop(show: Show, value: bool) -> None:
    show.stop_when_reached = value


def _set_endless(show: Show, value: bool) -> None:
    show.endless = value
