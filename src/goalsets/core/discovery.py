"""Finding what registers itself: every module of a package is imported, so that none is listed."""

from __future__ import annotations

import importlib
import pkgutil


def import_modules(package: str) -> None:
    """Import all modules directly inside a package, in the order of their names.

    A file that registers a learner, a query distribution, a task or a source is then known because
    it is there. Names that begin with an underscore are left alone.
    """
    paths = importlib.import_module(package).__path__
    for found in sorted(pkgutil.iter_modules(paths), key=lambda module: module.name):
        if not found.name.startswith("_"):
            importlib.import_module(f"{package}.{found.name}")
