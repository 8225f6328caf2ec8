"""What a package index gets: types in the wheel, and a README whose links work by themselves."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="needs the build backend, which comes with the extra dev")
pytest.importorskip("hatch_fancy_pypi_readme", reason="needs the hook for the README (extra dev)")

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
REPOSITORY = "https://github.com/goalsets/goalsets"
PLACES = (
    "https://raw.githubusercontent.com/goalsets/goalsets/main/",
    f"{REPOSITORY}/blob/main/",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel and the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def metadata(built: Path) -> str:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return archive.read(name).decode("utf-8")


@pytest.mark.full
def test_the_wheel_says_that_it_has_types(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "goalsets/py.typed" in archive.namelist()


@pytest.mark.full
def test_the_source_has_what_a_build_reads(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "pyproject.toml", "src/goalsets/py.typed"} <= names


@pytest.mark.full
def test_links_of_the_readme_are_absolute_on_an_index_and_lead_somewhere(metadata: str) -> None:
    head, _, shown = metadata.partition("\n\n")
    assert "Description-Content-Type: text/markdown" in head
    links = LINK.findall(shown)
    assert len(links) > 30
    for link in links:
        assert link.startswith(("https://", "#")), f"{link} is relative"
        for place in PLACES:
            if link.startswith(place):
                file = link.removeprefix(place).partition("#")[0]
                assert (ROOT / file).exists(), f"there is no {file}"
    pictures = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", shown)
    assert pictures
    assert all(picture.startswith(PLACES[0]) for picture in pictures)


@pytest.mark.full
def test_the_index_knows_where_the_project_lives(metadata: str) -> None:
    urls = dict(re.findall(r"^Project-URL: (\w+), (.*)$", metadata, flags=re.MULTILINE))
    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(url.startswith(REPOSITORY) for url in urls.values())


def test_the_readme_itself_keeps_relative_links() -> None:
    links = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert not [link for link in links if link.startswith((REPOSITORY, PLACES[0]))]
    for link in links:
        if not link.startswith(("https://", "#")):
            assert (ROOT / link.partition("#")[0]).exists(), f"there is no {link}"
