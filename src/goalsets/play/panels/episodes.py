"""Earlier episodes, to watch again or to download as a film."""

from __future__ import annotations

from collections.abc import Callable

from goalsets.play.panels.desk import Desk
from goalsets.play.recording import Recording
from goalsets.play.show import Show
from goalsets.play.words import note, problem

_NONE = "no episode yet"


class EpisodePanel:
    """Draws the list of episodes.

    Args:
        desk: The page.
        film: Makes a film of a recording, and sends it to the page.
    """

    def __init__(self, desk: Desk, film: Callable[[Recording], None]) -> None:
        """Add the widgets to the present container."""
        self._film = film
        self._recordings: dict[str, Recording] = {}
        gui = desk.gui
        self._list = gui.add_dropdown("Episode", [_NONE])
        commands = {
            "Replay": self._watch,
            "Film (MP4)": self._make_film,
            "Back to live": Show.leave,
        }
        desk.chooses(gui.add_button_group("Do", list(commands)), commands)
        self._moment = gui.add_slider(
            "Moment", min=0, max=1, step=1, initial_value=0, visible=False
        )
        desk.changes(self._moment, _scrub)
        self._status = gui.add_html(note("The last 12 episodes that ended are kept here."))

    def draw(self, show: Show) -> None:
        """Update the list, newest first."""
        recordings = show.snapshot()[::-1]
        found = {recording.title(): recording for recording in recordings}
        labels = tuple(found) or (_NONE,)
        newest = labels[0] != next(iter(self._recordings), _NONE)
        self._recordings = found
        if tuple(self._list.options) != labels:
            chosen = self._list.value
            self._list.options = labels
            self._list.value = labels[0] if newest or chosen not in labels else chosen
        self.follow(show)

    def follow(self, show: Show) -> None:
        """Move the slider with a replay."""
        replay = show.replay
        self._moment.visible = replay is not None
        if replay is not None:
            self._moment.max = max(replay.recording.length - 1, 1)
            self._moment.value = replay.moment

    def say(self, text: str, wrong: bool = False) -> None:
        """Show the progress of a film."""
        self._status.content = problem(text) if wrong else note(text)

    def _watch(self, show: Show) -> None:
        recording = self._recordings.get(self._list.value)
        if recording is not None:
            show.watch(recording)

    def _make_film(self, _: Show) -> None:
        recording = self._recordings.get(self._list.value)
        if recording is not None:
            self._film(recording)


def _scrub(show: Show, moment: int) -> None:
    if show.replay is not None:
        show.pause()
        show.replay.moment = min(int(moment), show.replay.recording.length - 1)
