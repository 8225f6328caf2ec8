"""A session: one tab, its show, and the thread that owns both.

What people do in the tab is queued as commands. The thread runs them, advances time in between, and
draws. Errors are shown on the page, and the session goes on.
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
from goalsets.play.panels.desk import Complain
from goalsets.play.setup import Support
from goalsets.play.words import note, problem

_SCENE_RATE, _NUMBERS_RATE = 30.0, 6.0
"""How often the scene and the numbers are drawn a second."""

log = logging.getLogger(__name__)


class Shown(Protocol):
    """A show as a session needs it."""

    playing: bool

    @property
    def number(self) -> int:
        """A number that changes whenever the whole page must be drawn again."""
        ...

    @property
    def goals(self) -> GoalSet:
        """The question with its goal."""
        ...

    @property
    def wait(self) -> float | None:
        """Seconds until something is due; None while paused."""
        ...

    def advance(self) -> None:
        """Do what is due."""
        ...

    def pause(self) -> None:
        """Stop time."""
        ...

    def close(self) -> None:
        """Free its resources."""
        ...


class Drawn(Protocol):
    """A page as a session needs it; each page draws its own kind of show."""

    def draw(self, show: Any) -> None:  # noqa: ANN401 - the page's own
        """Draw everything again."""
        ...

    def draw_numbers(self, show: Any) -> None:  # noqa: ANN401 - as above
        """Draw what need not be drawn at every step."""
        ...

    def draw_scene(self, show: Any) -> None:  # noqa: ANN401 - as above
        """Draw the moment."""
        ...

    def complain(self, why: str) -> None:
        """Show an error that belongs to no widget."""
        ...

    def say_support(self, found: Support | None) -> None:
        """Show what the data says; None while that is being counted."""
        ...


@dataclass(frozen=True)
class _Order:
    """A command, where to report a refusal, and whether to draw the page again afterwards."""

    command: Callable[[Any], None]
    complain: Complain | None
    draw: bool


class TabSession:
    """Serves one tab until it is closed. A subclass decides what it shows.

    Args:
        client: The tab.
        counting: Counts states in the data, for all sessions.
    """

    waiting = "Building the page…"
    """The text of a tab until there is something to see."""

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
        """Make the show; this may take seconds."""
        raise NotImplementedError

    def open_page(self, show: Any) -> Drawn:  # noqa: ANN401 - what `open_show` made
        """Make the page that draws it."""
        raise NotImplementedError

    def support(self, goals: GoalSet) -> Support:
        """What the data says about a question."""
        raise NotImplementedError

    def do(self, command: Callable[[Any], None], complain: Complain | None = None) -> None:
        """Queue a command; `complain` is called with the reason if it is refused."""
        self._commands.put(_Order(command, complain, draw=True))

    def _tell(self, news: Callable[[], None]) -> None:
        """Queue news of other threads, which change only their own place on the page."""
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
        except Exception as error:  # a simulator may fail in any way
            log.exception("a session could not start")
            waiting.content = problem(words_of(error))
            return
        try:
            waiting.remove()
            self._page = page = self.open_page(show)
            self._count(show)
            self._loop(show, page)
        except Exception:  # a tab may close while it is drawn; that is no error
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
                    continue  # the page shows the reason, and drawing it again would erase it
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
            why = words_of(error)
        else:
            if order.draw:
                self._draw_all(show, page)
            return True
        if order.complain is None:  # not refused but broken: stop time
            show.pause()
        self._draw_all(show, page)
        (order.complain or page.complain)(why)
        return False

    def _draw_all(self, show: Shown, page: Drawn) -> None:
        page.draw(show)
        self._count(show)

    def _count(self, show: Shown) -> None:
        """If the question is new, count the states that answer it."""
        goals = show.goals
        if self._goals is not None and _same(self._goals, goals):
            return
        self._goals = goals
        self._page.say_support(None)
        if self._counted is not None:
            self._counted.cancel()  # the question has changed
        self._counted = self._counting.submit(self._count_now, goals)

    def _count_now(self, goals: GoalSet) -> None:
        found = self.support(goals)
        if not self._closed.is_set():
            self._tell(lambda: self._say_support(goals, found))

    def _say_support(self, goals: GoalSet, found: Support) -> None:
        if self._goals is goals:
            self._page.say_support(found)


def _advance(show: Shown) -> None:
    show.advance()


def _same(one: GoalSet, other: GoalSet) -> bool:
    return one.query == other.query and bool((one.reference == other.reference).all())


def words_of(error: BaseException) -> str:
    """The message of an error; the type, too, unless it is one of ours."""
    return str(error) if isinstance(error, GoalsetsError) else f"{type(error).__name__}: {error}"
