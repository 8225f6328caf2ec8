"""The documentation site: it builds, every link leads somewhere, every public name is told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import goalsets

ROOT = Path(__file__).parents[2]


def build(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def needs_mkdocs() -> None:
    pytest.importorskip("material", reason="needs what builds the site: the extra docs")
    pytest.importorskip("mkdocstrings", reason="needs what builds the site: the extra docs")


@pytest.mark.full
def test_the_site_builds_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    needs_mkdocs()
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    reference = (tmp_path / "site/api.html").read_text(encoding="utf-8")
    for name in ("GoalSet.contains", "Query.parse", "load"):
        assert f'id="goalsets.{name}"' in reference
    first = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    for picture in re.findall(r'<img[^>]* src="([^"]+)"', first):
        assert (tmp_path / "site" / picture).exists(), f"there is no {picture}"


@pytest.mark.slow  # four builds of the site
@pytest.mark.parametrize(
    "link", ["nowhere.md", "../nowhere.py", "plan.md#nowhere", "../README.md#nowhere"]
)
def test_a_link_that_leads_nowhere_is_an_error(link: str, tmp_path: Path) -> None:
    needs_mkdocs()
    for name in ("tools", "mkdocs.yml", "README.md"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    settings = tmp_path / "mkdocs.yml"
    text = settings.read_text(encoding="utf-8").partition("nav:")[0]
    text = re.sub(r"  - mkdocstrings:\n(      .*\n)+", "", text)  # no package is copied
    settings.write_text(text, encoding="utf-8")
    (tmp_path / "README.md").write_text("# Start\n\n[Plan](docs/plan.md)\n", encoding="utf-8")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/plan.md").write_text("# Plan\n\n[Start](../README.md#start)\n")
    assert build(tmp_path, tmp_path / "site").returncode == 0
    (tmp_path / "docs/plan.md").write_text(f"# Plan\n\n[Lost]({link})\n", encoding="utf-8")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "nowhere" in done.stderr


def test_the_reference_has_every_public_name_and_the_site_every_page() -> None:
    reference = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^::: goalsets\.(\w+)$", reference, flags=re.MULTILINE))
    assert told == set(goalsets.__all__) - {"__version__"}
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        assert f" {page.relative_to(ROOT / 'docs').as_posix()}\n" in settings


def test_the_reference_has_every_name_that_the_docs_import() -> None:
    """Public names come from `goalsets` itself, all others from a module that the page names."""
    reference = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    rows = [line for line in reference.splitlines() if line.startswith("| `goalsets.")]
    modules = {module for row in rows for module in re.findall(r"`(goalsets[.\w]+)`", row)}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    pages += [*(ROOT / "examples").glob("*.py"), *(ROOT / "docs").rglob("*.ipynb")]
    pattern = re.compile(r'^[ "]*from (goalsets[.\w]*) import ([\w, ]*)', re.MULTILINE)
    found = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for module, names in pattern.findall(text):
            found += 1
            if module != "goalsets":
                assert module in modules, f"{page.name} imports from {module}"
                flat = {name.strip() for name in names.split(",")} & set(goalsets.__all__)
                assert flat == set(), f"{page.name} imports {flat} from {module}"
    assert found > 40
