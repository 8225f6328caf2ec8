"""Execute the notebooks of docs/notebooks without Jupyter, and keep their outputs.

    python tools/notebooks.py docs/notebooks/*.ipynb

Cells are Python; lines that begin with `!goalsets` are our commands, which run in this process. A
cell with the tag `varies` prints times, or numbers that differ between machines; the test does not
compare its output.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Notebook = dict[str, Any]
Output = dict[str, Any]


def read(path: Path) -> Notebook:
    """Read a notebook."""
    return json.loads(path.read_text(encoding="utf-8"))


def code_cells(notebook: Notebook) -> list[dict[str, Any]]:
    """The cells that are executed."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def varies(cell: dict[str, Any]) -> bool:
    """Whether its output may differ between machines."""
    return "varies" in cell["metadata"].get("tags", ())


def text_of(outputs: list[Output]) -> str:
    """What was printed."""
    return "".join(
        "".join(output["text"]) for output in outputs if output["output_type"] == "stream"
    )


def execute(notebook: Notebook) -> Iterator[list[Output]]:
    """Run the cells one after another in the current directory; yield the outputs of each."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in code_cells(notebook):
        printed, shown = io.StringIO(), None
        with contextlib.redirect_stdout(printed):
            source = "".join(cell["source"])
            if source.startswith("!"):
                for line in source.splitlines():
                    _command(line)
            else:
                shown = _python(source, names)
        outputs: list[Output] = []
        if printed.getvalue():
            tidy = "\n".join(line.rstrip() for line in printed.getvalue().splitlines()) + "\n"
            outputs.append(
                {"name": "stdout", "output_type": "stream", "text": tidy.splitlines(keepends=True)}
            )
        if shown is not None:
            outputs.append(_display(shown))
        yield outputs


def _python(source: str, names: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever it evaluates to
    """Execute a cell; return the value of its last line, if that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "notebook", "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "notebook", "eval"), names)


def _command(line: str) -> None:
    from goalsets.cli import main

    program, *words = shlex.split(line.removeprefix("!"))
    assert program == "goalsets", f"a notebook runs commands of goalsets only, got {line!r}"
    main(words)


def _display(shown: Any) -> Output:  # noqa: ANN401 - a picture, or what has a text
    data: dict[str, Any] = {"text/plain": [repr(shown)]}
    if hasattr(shown, "save"):  # a picture of Pillow
        file = io.BytesIO()
        shown.save(file, format="PNG", optimize=True)
        data = {
            "image/png": base64.b64encode(file.getvalue()).decode("ascii"),
            "text/plain": ["<a picture>"],
        }
    return {"data": data, "metadata": {}, "output_type": "display_data"}


def main() -> None:
    """Execute the notebooks that are named, and write their outputs into them."""
    for name in sys.argv[1:]:
        path = Path(name).resolve()
        notebook, before = read(path), Path.cwd()
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            os.environ["COLUMNS"] = "100"
            for cell, outputs in zip(code_cells(notebook), execute(notebook), strict=True):
                cell["outputs"] = outputs
            os.chdir(before)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
