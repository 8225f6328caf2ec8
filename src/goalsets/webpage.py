"""Writes HTML pages without further files, from the template of a package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEMPLATE = "page.html.jinja"


def write_webpage(package: str, path: str | Path, **values: Any) -> None:  # noqa: ANN401 - a template takes anything
    """Fill in the template `page.html.jinja` of a package, and write it to a file.

    A value that the template names but that is not given is an error.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package, "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(TEMPLATE).render(**values)
    Path(path).write_text(page, encoding="utf-8")
