"""A session in which policies act in simulators, with films of its episodes."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import viser

from goalsets.core import GoalSet
from goalsets.play.film import Filmer
from goalsets.play.page import Hand, Page
from goalsets.play.panels.desk import Desk
from goalsets.play.recording import Recording
from goalsets.play.session import TabSession, words_of
from goalsets.play.setup import Setup, Support
from goalsets.play.show import Show


class SimulatorSession(TabSession):
    """A tab in which policies act, with its own worlds.

    Args:
        client: The tab.
        counting: Counts states in the data, for all sessions.
        setup: The task, its checkpoints and its data.
        hand: Builds scenes.
        filmer: Makes films, for all sessions.
    """

    waiting = "Building the world…"

    def __init__(
        self,
        client: viser.ClientHandle,
        counting: ThreadPoolExecutor,
        setup: Setup,
        hand: Hand,
        filmer: Filmer,
    ) -> None:
        """Start the thread."""
        self._setup, self._hand, self._filmer = setup, hand, filmer
        super().__init__(client, counting)

    def open_show(self) -> Show:
        """Build the worlds."""
        return Show(self._setup)

    def open_page(self, show: Show) -> Page:
        """Make the page, with its scenes."""
        desk = Desk(self._client, self._setup, self.do)
        self._play = Page(desk, self._hand, show, self._order_film)
        return self._play

    def support(self, goals: GoalSet) -> Support:
        """What the data says about a question."""
        return self._setup.support(goals)

    def _order_film(self, recording: Recording) -> None:
        future = self._filmer.order(recording)
        self._play.episodes.say(f"Filming episode #{recording.number}; that takes some seconds…")

        def send(done: Future[tuple[str, bytes]]) -> None:
            if not self._closed.is_set() and not done.cancelled():
                self._tell(lambda: self._send_film(done))

        future.add_done_callback(send)

    def _send_film(self, done: Future[tuple[str, bytes]]) -> None:
        error = done.exception()
        if error is not None:
            self._play.episodes.say(words_of(error), wrong=True)
            return
        name, content = done.result()
        self._client.send_file_download(name, content, save_immediately=True)
        self._play.episodes.say(f"{name} is in your downloads.")
