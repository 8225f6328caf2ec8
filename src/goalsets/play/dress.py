"""Our style sheet and script for viser's page.

Viser's client is compiled, so a server cannot change its markup. But it can add an HTML element
with a style sheet, and the load event of the style sheet can start a script. Both are part of the
page, so that the browser makes no further requests.
"""

from __future__ import annotations

from html import escape
from importlib import resources


def dressing() -> str:
    """An invisible HTML element that brings the style sheet and the script."""
    here = resources.files("goalsets.play")
    looks = (here / "page.css").read_text(encoding="utf-8")
    script = (here / "page.js").read_text(encoding="utf-8")
    return f'<style onload="{escape(script)}">{looks}</style>'
