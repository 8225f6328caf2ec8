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
from typing import Any, Protocol

import viser

from goalsets.core import GoalSet, GoalsetsError
from goalsets.play.film import Filmer
from goalsets.play.page import Hand, Page
from goalsets.play.panels.desk import Complain, Desk
from goalsets.play.recording import Recording
from goalsets.play.setup import Setup, Support
from goalsets.play.show import Show
from goalsets.play.words import note, problem

_SCENE_RATE, _NUMBERS_RATE = 30.0, 6.0
"""Drawings a second: the eye wants the first, and can read the second."""

log = logging.getLogger(__name__)


class Shown(Protocol):
    """What a session needs of a show."""

    playing: bool

    @property
    def number(self) -> int:
        """Another one whenever the page must be drawn anew."""
        ...

    @property
    def goals(self) -> GoalSet:
        """What is asked."""
        ...

    @property
    def wait(self) -> float | None:
        """Seconds until something is due; None while time stands."""
        ...

    def advance(self) -> None:
        """Do what is due."""
        ...

    def pause(self) -> None:
        """Let time stand."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


class Drawn(Protocol):
    """What a session needs of a page; it is given its own show."""

    def draw(self, show: Any) -> None:  # noqa: ANN401 - the page's own
        """Draw everything anew."""
        ...

    def draw_numbers(self, show: Any) -> None:  # noqa: ANN401 - as above
        """Draw what need not be seen with every step."""
        ...

    def draw_scene(self, show: Any) -> None:  # noqa: ANN401 - as above
        """Draw the moment."""
        ...

    def complain(self, why: str) -> None:
        """Show an error that belongs to no widget."""
        ...

    def say_support(self, found: Support | None) -> None:
        """Say what the data says; None while that is being counted."""
        ...


@dataclass(frozen=True)
class _Order:
    """A command, who is told why it was refused, and whether the page is drawn anew after it."""

    command: Callable[[Any], None]
    complain: Complain | None
    draw: bool


class TabSession:
    """Serves one tab until it is closed. A subclass says what is shown in it.

    Args:
        client: The tab.
        counting: Counts states in the data, for all sessions.
    """

    waiting = "Building the page…"
    """What a tab says until there is something to see."""

    def __init__(self, client: viser.ClientHandle, counting: ThreadPoolExecutor) -> None:
        """Start the thread."""
        self._client = client
        self._counting = counting
        self._commands: queue.SimpleQueue[_Order] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._counted: Future[None] | None = None
        self._goals: GoalSet | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"session-{client.client_id}", daemon=True
        )
        self._thread.start()

    def open_show(self) -> Shown:
        """Make what is shown; it may take its time."""
        raise NotImplementedError

    def open_page(self, show: Any) -> Drawn:  # noqa: ANN401 - what `open_show` made
        """Make the page that draws it."""
        raise NotImplementedError

    def support(self, goals: GoalSet) -> Support:
        """What the data says of a question."""
        raise NotImplementedError

    def do(self, command: Callable[[Any], None], complain: Complain | None = None) -> None:
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
        waiting = self._client.gui.add_html(note(self.waiting))
        try:
            show = self.open_show()
        except Exception as error:  # whatever a simulator can do wrong
            log.exception("a session could not start")
            waiting.content = problem(_words(error))
            return
        try:
            waiting.remove()
            self._page = page = self.open_page(show)
            self._count(show)
            self._loop(show, page)
        except Exception:  # a tab that closes while it is drawn is no error of ours
            if not self._closed.is_set():
                log.exception("a session ended by an error")
        finally:
            show.close()

    def _loop(self, show: Shown, page: Drawn) -> None:
        scene_due = numbers_due = 0.0
        while not self._closed.is_set():
            try:
                order = self._commands.get(timeout=show.wait)
            except queue.Empty:
                number, was_playing = show.number, show.playing
                if not self._carry_out(show, page, _Order(_advance, None, draw=False)):
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

    def _carry_out(self, show: Shown, page: Drawn, order: _Order) -> bool:
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

    def _draw_all(self, show: Shown, page: Drawn) -> None:
        page.draw(show)
        self._count(show)

    def _count(self, show: Shown) -> None:
        """Have the states counted that answer the question, if it is another."""
        goals = show.goals
        if self._goals is not None and _same(self._goals, goals):
            return
        self._goals = goals
        self._page.say_support(None)
        if self._counted is not None:
            self._counted.cancel()  # nobody asks that any more
        self._counted = self._counting.submit(self._count_now, goals)

    def _count_now(self, goals: GoalSet) -> None:
        found = self.support(goals)
        if not self._closed.is_set():
            self._tell(lambda: self._say_support(goals, found))

    def _say_support(self, goals: GoalSet, found: Support) -> None:
        if self._goals is goals:
            self._page.say_support(found)


class SimulatorSession(TabSession):
    """A tab in which policies act in worlds of its own.

    Args:
        client: The tab.
        counting: Counts states in the data, for all sessions.
        setup: What is played.
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
        """What the data says of a question."""
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
            self._play.episodes.say(_words(error), wrong=True)
            return
        name, content = done.result()
        self._client.send_file_download(name, content, save_immediately=True)
        self._play.episodes.say(f"{name} is in your downloads.")


def _advance(show: Shown) -> None:
    show.advance()


def _same(one: GoalSet, other: GoalSet) -> bool:
    return one.query == other.query and bool((one.reference == other.reference).all())


def _words(error: BaseException) -> str:
    return str(error) if isinstance(error, GoalsetsError) else f"{type(error).__name__}: {error}"
