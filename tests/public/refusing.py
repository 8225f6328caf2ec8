"""Run the command line where libraries are missing: a process that refuses to import them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import goalsets

RUN = """
import contextlib, io, json, sys

class Refusing:
    refused = set(json.loads(sys.argv[1]))

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def run(words):
    from goalsets.cli import main

    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(words)
        except SystemExit as end:
            code = end.code or 0
    loaded = sorted({name.partition(".")[0] for name in sys.modules})
    return {"code": code, "out": out.getvalue(), "err": err.getvalue(), "loaded": loaded}

sys.meta_path.insert(0, Refusing())
if __name__ == "__main__":  # workers import this file, too
    print(json.dumps([run(words) for words in json.loads(sys.argv[2])]))
"""


@dataclass(frozen=True)
class Said:
    """What a command said, and which libraries the process had imported when it was over."""

    code: int
    out: str
    err: str
    loaded: list[str]


def run_without(
    refused: Iterable[str], commands: Sequence[Sequence[str]], where: Path
) -> list[Said]:
    """Run commands one after another in one process that lacks some libraries."""
    script = where / "refusing_process.py"
    script.write_text(RUN, encoding="utf-8")
    source = str(Path(goalsets.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, script, json.dumps(sorted(refused)), json.dumps(list(commands))],
        cwd=where,
        env={**os.environ, "PYTHONPATH": source, "COLUMNS": "100", "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return [Said(**told) for told in json.loads(done.stdout)]
