"""What makes viser's page ours: looks, and a script for what it does not do by itself.

Viser's client is compiled, and a server cannot change its markup. An HTML element can carry a style
sheet, though, and a style sheet tells by an event that it was loaded: that starts the script. Both
come with the page, so that nothing else is asked of the server, and nothing of anybody else.
"""

from __future__ import annotations

from html import escape
from importlib import resources


def dressing() -> str:
    """An HTML element, with nothing to see, that dresses the page it is put on."""
    here = resources.files("goalsets.play")
    looks = (here / "page.css").read_text(encoding="utf-8")
    script = (here / "page.js").read_text(encoding="utf-8")
    return f'<style onload="{escape(script)}">{looks}</style>'
