"""A session: one tab, its show, and the one thread that both belong to.

What people do in the tab is queued as commands. The thread runs them, lets time pass in between,
and draws. Whatever goes wrong is said on the page, and the session goes on.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import viser

from goalsets.core import GoalSet, GoalsetsError
from goalsets.play.film import Filmer
from goalsets.play.page import Hand, Page
from goalsets.play.panels.desk import Command, Complain, Desk
from goalsets.play.recording import Recording
from goalsets.play.setup import Setup, Support
from goalsets.play.show import Show
from goalsets.play.words import note, problem

_SCENE_RATE, _NUMBERS_RATE = 30.0, 6.0
"""Drawings a second: the eye wants the first, and can read the second."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Order:
    """A command, who is told why it was refused, and whether the page is drawn anew after it."""

    command: Command
    complain: Complain | None
    draw: bool


class TabSession:
    """Serves one tab until it is closed.

    Args:
        client: The tab.
        setup: What is played.
        hand: Builds scenes.
        filmer: Makes films, for all sessions.
        counting: Counts states in the data, for all sessions.
    """

    def __init__(
        self,
        client: viser.ClientHandle,
        setup: Setup,
        hand: Hand,
        filmer: Filmer,
        counting: ThreadPoolExecutor,
    ) -> None:
        """Start the thread."""
        self._client = client
        self._setup = setup
        self._hand = hand
        self._filmer = filmer
        self._counting = counting
        self._commands: queue.SimpleQueue[_Order] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._counted: Future[None] | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"session-{client.client_id}", daemon=True
        )
        self._thread.start()

    def do(self, command: Command, complain: Complain | None = None) -> None:
        """Queue a command; `complain` is told why it was refused, if it was."""
        self._commands.put(_Order(command, complain, draw=True))

    def _tell(self, news: Callable[[], None]) -> None:
        """Queue what comes from other threads: it writes its own place on the page, no more."""
        self._commands.put(_Order(lambda _: news(), None, draw=False))

    def close(self) -> None:
        """End the session; its thread frees the show."""
        self._closed.set()
        self.do(lambda _: None)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(timeout)

    def _run(self) -> None:
        waiting = self._client.gui.add_html(note("Building the world…"))
        try:
            show = Show(self._setup)
        except Exception as error:  # whatever a simulator can do wrong
            log.exception("a session could not start")
            waiting.content = problem(_words(error))
            return
        try:
            waiting.remove()
            desk = Desk(self._client, self._setup, self.do)
            page = Page(desk, self._hand, show, self._order_film)
            self._page, self._goals = page, None
            self._count(show)
            self._loop(show, page)
        except Exception:  # a tab that closes while it is drawn is no error of ours
            if not self._closed.is_set():
                log.exception("a session ended by an error")
        finally:
            show.close()

    def _loop(self, show: Show, page: Page) -> None:
        scene_due = numbers_due = 0.0
        while not self._closed.is_set():
            try:
                order = self._commands.get(timeout=show.wait)
            except queue.Empty:
                number, was_playing = show.number, show.playing
                if not self._carry_out(show, page, _Order(Show.advance, None, draw=False)):
                    continue  # the page says why, and drawing it anew would wipe that out
                now = time.perf_counter()
                if (was_playing and not show.playing) or show.number != number:
                    self._draw_all(show, page)
                elif now >= scene_due:
                    page.draw_scene(show)
                    scene_due = now + 1 / _SCENE_RATE
                    if now >= numbers_due:
                        page.draw_numbers(show)
                        numbers_due = now + 1 / _NUMBERS_RATE
            else:
                self._carry_out(show, page, order)

    def _carry_out(self, show: Show, page: Page, order: _Order) -> bool:
        """Run a command, and return whether it worked; if not, say so on the page."""
        try:
            order.command(show)
        except GoalsetsError as error:
            why = str(error)
        except Exception as error:  # a policy or a simulator may fail in any way
            log.exception("a command failed")
            why = _words(error)
        else:
            if order.draw:
                self._draw_all(show, page)
            return True
        if order.complain is None:  # not refused but broken: let time stand
            show.pause()
        self._draw_all(show, page)
        (order.complain or page.complain)(why)
        return False

    def _draw_all(self, show: Show, page: Page) -> None:
        page.draw(show)
        self._count(show)

    def _count(self, show: Show) -> None:
        """Have the states counted that answer the question, if it is another."""
        goals = show.goals
        if self._goals is not None and _same(self._goals, goals):
            return
        self._goals = goals
        self._page.insight.say_support(None)
        if self._counted is not None:
            self._counted.cancel()  # nobody asks that any more
        self._counted = self._counting.submit(self._count_now, goals)

    def _count_now(self, goals: GoalSet) -> None:
        found = self._setup.support(goals)
        if not self._closed.is_set():
            self._tell(lambda: self._say_support(goals, found))

    def _say_support(self, goals: GoalSet, found: Support) -> None:
        if self._goals is goals:
            self._page.insight.say_support(found)

    def _order_film(self, recording: Recording) -> None:
        future = self._filmer.order(recording)
        self._page.episodes.say(f"Filming episode #{recording.number}; that takes some seconds…")

        def send(done: Future[tuple[str, bytes]]) -> None:
            if not self._closed.is_set() and not done.cancelled():
                self._tell(lambda: self._send_film(done))

        future.add_done_callback(send)

    def _send_film(self, done: Future[tuple[str, bytes]]) -> None:
        error = done.exception()
        if error is not None:
            self._page.episodes.say(_words(error), wrong=True)
            return
        name, content = done.result()
        self._client.send_file_download(name, content, save_immediately=True)
        self._page.episodes.say(f"{name} is in your downloads.")


def _same(one: GoalSet, other: GoalSet) -> bool:
    return one.query == other.query and bool((one.reference == other.reference).all())


def _words(error: BaseException) -> str:
    return str(error) if isinstance(error, GoalsetsError) else f"{type(error).__name__}: {error}"
