"""Plugins in files, and processes that load them: a stranger's machine in a directory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from goalsets.core.plugins import VARIABLE

QUERIES = '''
"""Half of the queries are about everything: a query distribution, and the scheme beside it."""

from dataclasses import dataclass

import numpy as np

from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, SCHEMES, Scheme


@QUERY_DISTRIBUTIONS.register("mine")
@dataclass(frozen=True)
class Mine:
    """All coordinates."""

    def sample(self, layout, batch_size, rng):
        return np.ones((batch_size, layout.dim), dtype=np.bool_)

    def marginals(self, layout):
        return np.ones(layout.dim)


SCHEMES.add("gs-mine", Scheme("mine"))
'''

SOURCE = '''
"""Logs of numbers in text: one row a state, with its action."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from goalsets import Episode, Group, StateLayout
from goalsets.data.flatten import FieldSpec
from goalsets.data.sources import SOURCES, Notices


@SOURCES.register("text")
@dataclass(frozen=True)
class Text:
    """Numbers in a text file."""

    path: Path
    """The file."""
    notices: Notices = field(default_factory=Notices, init=False, repr=False, compare=False)

    has_validation = False

    def fields(self):
        return (FieldSpec("", 2),)

    def describe(self):
        return f"text {self.path}"

    def known_layout(self):
        return StateLayout(name="text", dim=2, groups=[Group("pos", (0, 1), tolerance=0.1)])

    @property
    def store_name(self):
        return f"text-{self.path.stem}"

    def episodes(self, split="train"):
        rows = np.loadtxt(self.path, dtype=np.float32)
        for _ in range(10):
            yield Episode(rows, rows[:-1])
'''

PRINT_SCHEMES = """
from goalsets.relabel.queries import SCHEMES
print([(name, SCHEMES.plugin_of(name)) for name in SCHEMES if "mine" in name])
"""
"""A program that says which of the plugins' schemes it knows, and from where."""


def write(directory: Path, name: str, text: str = QUERIES) -> Path:
    """Write a plugin as a module of this name."""
    path = directory.joinpath(*name.split(".")).with_suffix(".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def install(directory: Path, package: str, entry: str) -> None:
    """Have a directory on the path hold an installed package with an entry point."""
    info = directory / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[goalsets.plugins]\n{package} = {entry}\n")


def run_python(
    *words: str, cwd: Path, plugins: str | None = None, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python in a process and a directory of its own.

    Args:
        words: What follows `python`.
        cwd: Where.
        plugins: What GOALSETS_PLUGINS says.
        path: A further directory on the path.
    """
    env = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    env.pop(VARIABLE, None)
    if plugins is not None:
        env[VARIABLE] = plugins
    if path is not None:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(path), env.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *words], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


def goalsets(*words: str, cwd: Path, **options: str) -> subprocess.CompletedProcess[str]:
    """Run a command of goalsets as somebody whose shell is in a directory."""
    # As the command `goalsets` does, and unlike `python -m`: the directory is not on the path.
    start = "import sys; sys.path.remove(''); from goalsets.cli import main; main()"
    return run_python("-c", start, *words, cwd=cwd, **options)


def scheme_in_worker(name: str) -> Callable[[int], str]:
    """Prepare a worker that says who registered a scheme."""
    from goalsets.relabel.queries import SCHEMES

    return lambda _: str(SCHEMES.plugin_of(name))
