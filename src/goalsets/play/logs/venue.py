"""The venue of a playground that shows recorded episodes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import viser

from goalsets.core import GoalSet
from goalsets.play.logs.page import LogPage
from goalsets.play.logs.scene import LogHand
from goalsets.play.logs.setup import LogSetup
from goalsets.play.logs.show import LogShow
from goalsets.play.panels.desk import Desk
from goalsets.play.session import TabSession
from goalsets.play.setup import Support


class Logs:
    """Recorded episodes, with policies that are asked about them.

    Args:
        setup: What is shown.
    """

    def __init__(self, setup: LogSetup) -> None:
        """Find out what can be drawn."""
        self._setup = setup
        self._hand = LogHand(setup)

    def build(self, server: viser.ViserServer) -> None:
        """Add to the scene what does not move."""
        self._hand.build(server)

    def open(self, client: viser.ClientHandle, counting: ThreadPoolExecutor) -> LogSession:
        """Begin a session."""
        return LogSession(client, counting, self._setup, self._hand)

    def close(self) -> None:
        """Do nothing: there is nothing to free."""


class LogSession(TabSession):
    """A tab that shows recorded episodes.

    Args:
        client: The tab.
        counting: Counts states in the data, for all sessions.
        setup: The episodes, the checkpoints and the robot.
        hand: Builds the scene.
    """

    waiting = "Asking the policy about the first episode…"

    def __init__(
        self,
        client: viser.ClientHandle,
        counting: ThreadPoolExecutor,
        setup: LogSetup,
        hand: LogHand,
    ) -> None:
        """Start the thread."""
        self._setup, self._hand = setup, hand
        super().__init__(client, counting)

    def open_show(self) -> LogShow:
        """Ask the policies along the first episode."""
        return LogShow(self._setup)

    def open_page(self, show: LogShow) -> LogPage:
        """Make the page."""
        # The question panel is the playground's. It needs only a layout, ready-made questions, and
        # a show with a question, and logs have all of them.
        setup: Any = cast("Any", self._setup)
        return LogPage(Desk(self._client, setup, self.do), self._hand, show)

    def support(self, goals: GoalSet) -> Support:
        """What the data says about a question."""
        return self._setup.support(goals)
