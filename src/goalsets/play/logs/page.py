"""The page of logs: the question on the left, the scene, the policies' answers on the right."""

from __future__ import annotations

import viser

from goalsets.play.logs.panels import EpisodePanel, LogGoalPanel, SaysPanel, TimePanel
from goalsets.play.logs.scene import LogHand, LogScene
from goalsets.play.logs.show import LogShow
from goalsets.play.logs.words import heading
from goalsets.play.panels.desk import Desk
from goalsets.play.panels.question import QuestionPanel
from goalsets.play.setup import Support
from goalsets.play.words import note, problem

_LEFT, _RIGHT = 320, 470
"""Widths of the panels in pixels, if there is room for both."""
_NARROW = 1100
"""Windows of fewer pixels have one panel, with tabs."""
_ONE = 380


class LogPage:
    """All widgets and the scene of one tab.

    Args:
        desk: The tab.
        hand: Builds the scene.
        show: The show to draw.
    """

    def __init__(self, desk: Desk, hand: LogHand, show: LogShow) -> None:
        """Add everything, and draw it for the first time."""
        self._desk = desk
        gui, width = desk.gui, _width(desk.client)
        gui.set_panel_label("goalsets playground")
        gui.add_html(heading(show.setup))
        self._error = gui.add_html("")
        if width < _NARROW:
            self._time = TimePanel(desk, show.last)
            tabs = gui.add_tab_group()
            with tabs.add_tab("Ask"):
                self._add_asking(desk, show)
            with tabs.add_tab("What the policy says"):
                self._says = SaysPanel(desk)
            gui.main_panel.dock_left()
            gui.main_panel.set_width(width - 20 if hand.empty else max(_ONE, width * 0.45))
        else:
            self._add_asking(desk, show)
            right = gui.add_panel()
            with right.add_tab("What the policy says"):
                self._time = TimePanel(desk, show.last)
                self._says = SaysPanel(desk)
            gui.main_panel.dock_left()
            gui.main_panel.set_width(_LEFT)
            right.dock_right()
            right.set_width(width - _LEFT - 20 if hand.empty else _RIGHT)
        self._scene = None if hand.empty else LogScene(desk.client, hand)
        self.draw(show)

    def _add_asking(self, desk: Desk, show: LogShow) -> None:
        gui, robot = desk.gui, show.setup.robot
        with gui.add_folder("1 · The episode"):
            self._episode = EpisodePanel(desk, show.setup.data.num_episodes)
        with gui.add_folder("2 · The goal"):
            self._goal = LogGoalPanel(desk)
        with gui.add_folder("3 · The question"):
            self._question = QuestionPanel(desk)
        if robot is not None and robot.notes:
            with gui.add_folder("About the drawing", expand_by_default=False):
                for text in robot.notes:
                    gui.add_html(note(text))

    def draw(self, show: LogShow) -> None:
        """Draw everything again."""
        with self._desk.client.atomic():
            self._error.content = ""
            self._episode.draw(show)
            self._goal.draw(show)
            self._question.draw(show)  # pyright: ignore[reportArgumentType] - it needs a question
            self._time.draw(show)
            self._says.draw(show)
            self.draw_scene(show)

    def draw_numbers(self, show: LogShow) -> None:
        """Draw what changes with every step, but less often than that."""
        self._time.follow(show)
        self._says.draw(show)

    def draw_scene(self, show: LogShow) -> None:
        """Draw the present step."""
        if self._scene is not None:
            with self._desk.client.atomic():
                self._scene.draw(show)

    def complain(self, why: str) -> None:
        """Show an error that belongs to no widget."""
        self._error.content = problem(why)

    def say_support(self, found: Support | None) -> None:
        """Show what the data says; None while that is being counted."""
        self._says.say_support(found)


def _width(client: viser.ClientHandle) -> int:
    """Width of the window in pixels; no panel is docked yet, so it is that of the scene."""
    return int(client.camera.image_width) or 1360
