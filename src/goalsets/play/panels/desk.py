"""What the page offers to its panels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import viser

from goalsets.play.setup import Setup
from goalsets.play.show import Show

Command = Callable[[Show], None]
CHOSEN = "✓ "
"""Precedes the label of a chosen button. The page's script tells screen readers."""
Complain = Callable[[str], None]
"""Shows on the page why a command was refused."""


@dataclass(frozen=True)
class Desk:
    """The page's widgets, and a way to have something done to the show."""

    client: viser.ClientHandle
    setup: Setup
    do: Callable[[Command, Complain | None], None]
    """Queue a command; the session's thread runs it and draws the page again."""

    @property
    def gui(self) -> viser.GuiApi:
        """Where widgets are added."""
        return self.client.gui

    def clicks(
        self,
        button: Any,  # noqa: ANN401 - viser's buttons
        command: Command,
        complain: Complain | None = None,
    ) -> None:
        """Run a command at each click."""

        async def clicked(_: Any) -> None:  # noqa: ANN401 - viser's events
            self.do(command, complain)

        button.on_click(clicked)

    def chooses(
        self,
        group: Any,  # noqa: ANN401 - viser's button groups
        commands: dict[str, Command],
        complain: Complain | None = None,
    ) -> None:
        """Run the command of the button that was clicked in a group."""

        async def clicked(event: Any) -> None:  # noqa: ANN401 - as above
            self.do(commands[event.target.value.removeprefix(CHOSEN)], complain)

        group.on_click(clicked)

    def changes(
        self,
        widget: Any,  # noqa: ANN401 - viser's inputs
        command: Callable[[Show, Any], None],
        complain: Complain | None = None,
    ) -> None:
        """Run a command with the value that a person gave a widget.

        Values that the page itself writes come back without a client, and are ignored.
        """

        async def changed(event: Any) -> None:  # noqa: ANN401 - as above
            if event.client is not None:
                value = event.target.value
                self.do(lambda show: command(show, value), complain)

        widget.on_update(changed)

    def submits(
        self,
        form: Any,  # noqa: ANN401 - viser's forms
        field: Any,  # noqa: ANN401 - a text input in it
        command: Callable[[Show, str], None],
        complain: Callable[[str, str], None],
    ) -> None:
        """Run a command with a text when Enter is pressed; a refused text can be corrected."""

        async def submitted(_: Any) -> None:  # noqa: ANN401 - as above
            text = field.value
            self.do(lambda show: command(show, text), lambda why: complain(why, text))

        form.on_submit(submitted)
