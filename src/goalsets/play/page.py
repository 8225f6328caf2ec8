"""The page of one tab: controls on the left, the scene, results on the right."""

from __future__ import annotations

from collections.abc import Callable

from goalsets.play.flat import FlatHand, FlatScene
from goalsets.play.grips import Grip
from goalsets.play.panels.desk import Desk
from goalsets.play.panels.episodes import EpisodePanel
from goalsets.play.panels.goal import GoalPanel, handled_first
from goalsets.play.panels.insight import InsightPanel
from goalsets.play.panels.plan import PlanPanel
from goalsets.play.panels.question import QuestionPanel
from goalsets.play.panels.run import RunPanel, StartPanel
from goalsets.play.recording import Recording
from goalsets.play.scene import BodyScene, Stagehand
from goalsets.play.setup import Setup, Support
from goalsets.play.show import Show
from goalsets.play.words import heading, problem

Hand = Stagehand | FlatHand

LEFT_WIDTH, RIGHT_WIDTH = 340, 350


def make_hand(setup: Setup) -> Hand:
    """The builder of a task's scenes: in 3D, or in 2D for a world that draws itself."""
    return FlatHand(setup) if setup.shelf.poser.world.physics is None else Stagehand(setup)


class Page:
    """All widgets and scenes of one tab.

    Args:
        desk: The tab.
        hand: Builds the scenes.
        show: The show to draw.
        film: Makes a film of a recording.
    """

    def __init__(
        self, desk: Desk, hand: Hand, show: Show, film: Callable[[Recording], None]
    ) -> None:
        """Add everything, and draw it for the first time."""
        self._desk = desk
        self._pending: tuple[Grip, tuple[float, float, float], float] | None = None
        gui = desk.gui
        gui.set_panel_label("goalsets playground")
        gui.add_html(heading(desk.setup))
        self._error = gui.add_html("")
        # The controls that everyone needs come first, so that small windows show them, too.
        self._run = RunPanel(desk, show.stages[0].world.pushes)
        with gui.add_folder("The goal"):
            self._goal = GoalPanel(desk, self._offer)
        with gui.add_folder("The question"):
            self._question = QuestionPanel(desk)
        with gui.add_folder("Where it starts, when it stops", expand_by_default=False):
            StartPanel(desk)
        right = gui.add_panel()
        with right.add_tab("What happens"):
            self._plan: PlanPanel | None = None
            if any(checkpoint.planner is not None for checkpoint in desk.setup.checkpoints):
                with gui.add_folder("Plan"):
                    self._plan = PlanPanel(desk)
            self._insight = InsightPanel(desk)
            with gui.add_folder("Episodes"):
                self._episodes = EpisodePanel(desk, film)
        gui.main_panel.dock_left()
        gui.main_panel.set_width(LEFT_WIDTH)
        right.dock_right()
        right.set_width(RIGHT_WIDTH)
        count = len(desk.setup.checkpoints)
        self._scenes = [self._add_scene(hand, pane) for pane in range(count)]
        if desk.setup.shelf.grips:
            self._offer(handled_first(desk))
        self.draw(show)

    def draw(self, show: Show) -> None:
        """Draw everything again."""
        with self._desk.client.atomic():
            self._error.content = ""
            self._goal.draw(show.shown_goal)
            self._question.draw(show)
            self._run.draw(show)
            self._episodes.draw(show)
            if self._plan is not None:
                self._plan.draw(show)
            self.draw_numbers(show)
            self.draw_scene(show)

    def draw_numbers(self, show: Show) -> None:
        """Draw what changes with every step, but less often than that."""
        self._run.follow(show)
        self._insight.draw(show)
        self._episodes.follow(show)
        if self._plan is not None:
            self._plan.follow(show)

    def draw_scene(self, show: Show) -> None:
        """Draw the moment, on every pane."""
        with self._desk.client.atomic():
            handled = show.shown_goal.state
            for scene, view in zip(self._scenes, show.views(), strict=True):
                ghost = show.ghost(view)
                scene.ghost(ghost.goal, ghost.query, ghost.met, handled)
                scene.show(view.frame)

    def complain(self, why: str) -> None:
        """Show an error that belongs to no widget."""
        self._error.content = problem(why)

    def say_support(self, found: Support | None) -> None:
        """Show what the data says about the question; None while that is being counted."""
        self._insight.say_support(found)

    @property
    def episodes(self) -> EpisodePanel:
        """The list of episodes."""
        return self._episodes

    def _add_scene(self, hand: Hand, pane: int) -> BodyScene | FlatScene:
        drag = self._dragged if pane == 0 else None
        if isinstance(hand, FlatHand):
            return FlatScene(self._desk.client, hand, pane, drag)
        return BodyScene(self._desk.client, hand, pane, drag)

    def _offer(self, name: str | None) -> None:
        for scene in self._scenes:
            scene.offer(name)

    def _dragged(
        self, grip: Grip, place: tuple[float, float, float], yaw: float, let_go: bool
    ) -> None:
        """Drag the goal. Of several waiting moves, only the last is done."""
        waiting = self._pending is not None
        self._pending = grip, place, yaw
        if not waiting or let_go:
            self._desk.do(self._move_goal, None)

    def _move_goal(self, show: Show) -> None:
        if self._pending is not None:
            (grip, place, yaw), self._pending = self._pending, None
            show.set_goal(self._desk.setup.shelf.move(show.goal, grip, place, yaw))
