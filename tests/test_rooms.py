"""A name has one room: no module asks for a learner, a scheme or a task by its name elsewhere."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from goalsets.envs.tasks import TASKS
from goalsets.learners import LEARNERS
from goalsets.relabel.queries import SCHEMES

SOURCE = Path("src/goalsets")
NAMES = {
    "learner": (LEARNERS, ("learners/", "envs/tasks/tuned.py")),  # measured with a learner
    "scheme": (SCHEMES, ("relabel/queries/", "report/published.py")),
    "task": (TASKS, ("envs/", "collect/")),
}
"""What may not be named, and where it may."""
CAMPAIGN = "campaign/"
"""What our own results are about is named there, and only there."""
EXAMPLES = {"cli/quickstart.py", "cli/query.py"}
"""The robot that newcomers meet first is an example, not a special case."""


def strings(file: Path) -> list[tuple[int, str]]:
    """All texts in a file's code that are no docstrings, with their lines."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    spoken = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in spoken
    ]


@pytest.mark.parametrize("kind", NAMES)
def test_names_are_spoken_in_their_own_room_only(kind: str) -> None:
    registry, rooms = NAMES[kind]
    names = set(registry)
    assert len(names) > 4
    found: list[str] = []
    for file in sorted(SOURCE.rglob("*.py")):
        place = file.relative_to(SOURCE).as_posix()
        if place.startswith((*rooms, CAMPAIGN)) or place in EXAMPLES:
            continue
        found += [f"{place}:{line}: {text!r}" for line, text in strings(file) if text in names]
    assert found == []


def test_the_test_can_see() -> None:
    texts = {text for _, text in strings(SOURCE / "report/published.py")}
    assert texts & set(SCHEMES)
