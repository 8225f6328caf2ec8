"""Write constraints.txt: the exact version of everything goalsets can install.

For each Python we support, pip resolves the package with every extra and prints a report instead
of installing. Versions that are the same for all become plain pins. If they differ, or if only some
Pythons need a package, the pin has an environment marker.

    python tools/lock.py python3.10 python3.11 python3.12 python3.13

The interpreters must be installed: pip's --python-version chooses wheels for another Python, but
still evaluates the markers of dependencies for the running one, so it would miss packages.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = """\
# Exact versions of all dependencies, extras and build requirements (Linux, CPython {pythons}).
# Written by tools/lock.py; to change it, edit pyproject.toml and run `make lock`.
# The CUDA packages that some builds of torch bring along are left to torch, which pins them.
"""
# The same pip for all: older resolvers search for hours.
PIP = "pip==26.3"
# What every build of the pinned torch needs, without CUDA. Update it with the torch pin.
TORCH_REQUIRES = (
    "filelock",
    "fsspec>=0.8.5",
    "jinja2",
    "networkx>=2.5.1",
    "setuptools>=77.0.3",
    "sympy>=1.13.3",
    "typing-extensions>=4.10.0",
)
NEVER_PINNED = re.compile(r"goalsets$|nvidia-|cuda-|triton$")

Version = tuple[int, int]


def main() -> None:
    """Resolve for each interpreter named on the command line and write constraints.txt."""
    parser = argparse.ArgumentParser(description="Write constraints.txt.")
    parser.add_argument("pythons", nargs="+", help="one interpreter for each supported Python")
    interpreters = {python_version(name): name for name in parser.parse_args().pythons}
    pins: dict[Version, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        pip = [sys.executable, "-m", "pip", "--quiet", "--quiet"]
        subprocess.run([*pip, "install", "--target", scratch, PIP], check=True)
        write_torch_stand_in(scratch)
        for version, python in sorted(interpreters.items()):
            print(f"Resolving for Python {dotted(version)} …", flush=True)
            pins[version] = resolve(python, scratch)
    lines = constraint_lines(pins)
    header = HEADER.format(pythons=", ".join(map(dotted, pins)))
    (ROOT / "constraints.txt").write_text(header + "\n".join(lines) + "\n")
    print(f"Wrote {len(lines)} pins to constraints.txt.")


def python_version(python: str) -> Version:
    """Return (major, minor) of an interpreter, or exit with a message if it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit(f"lock: {python} does not run here; locking needs each supported Python.")
    major, minor = map(int, done.stdout.split())
    return major, minor


def write_torch_stand_in(folder: Path) -> None:
    """Write an empty wheel named torch, which pip prefers while it resolves.

    The real wheels have half a gigabyte. pip might download one for each Python only to read its
    metadata, and most of them require CUDA packages that we do not pin.
    """
    version = pinned("torch") + "+stand.in"
    info = f"torch-{version}.dist-info"
    requires = "".join(f"Requires-Dist: {requirement}\n" for requirement in TORCH_REQUIRES)
    metadata = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n{requires}"
    wheel = "Wheel-Version: 1.0\nGenerator: lock\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", wheel)
        archive.writestr(f"{info}/RECORD", "")


def pinned(name: str) -> str:
    """Return the version to which pyproject.toml pins a package."""
    found = re.search(rf'"{name}==([^"]+)"', (ROOT / "pyproject.toml").read_text())
    if found is None:
        sys.exit(f"lock: pyproject.toml does not pin {name} with ==.")
    return found.group(1)


def resolve(python: str, scratch: Path) -> dict[str, str]:
    """Return the version of each package that an install with every extra would choose."""
    report = scratch / "report.json"
    options = ["--dry-run", "--ignore-installed", "--only-binary=:all:", "--quiet", "--quiet"]
    files = ["--find-links", scratch, "--report", report]
    # The build backend, and what it needs for an editable install.
    backend = ("hatchling", "hatch-fancy-pypi-readme")
    build = [*(f"{name}=={pinned(name)}" for name in backend), "editables"]
    wanted = [f"{ROOT}[all,dev,docs]", *build]
    command = [python, scratch / "pip", "install", *options, *files, *wanted]
    subprocess.run(command, check=True)
    found = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    # A local version, such as 2.13.0+cpu, names one machine's build of a release.
    pins = {normalised(data["name"]): data["version"].partition("+")[0] for data in found}
    return {name: version for name, version in pins.items() if not NEVER_PINNED.match(name)}


def normalised(name: str) -> str:
    """Return a package name in the standard spelling."""
    return re.sub(r"[-_.]+", "-", name).lower()


def constraint_lines(pins: dict[Version, dict[str, str]]) -> list[str]:
    """Return one line for each package and each run of consecutive Pythons that agree on it."""
    lines: list[str] = []
    pythons = list(pins)
    for name in sorted({name for chosen in pins.values() for name in chosen}):
        for version, group in groupby(pythons, key=lambda python: pins[python].get(name)):
            run = list(group)
            if version is not None:
                lines.append(f"{name}=={version}{marker(run, pythons)}")
    return lines


def marker(run: list[Version], pythons: list[Version]) -> str:
    """Return the marker of a run of Pythons, open towards those that were not locked."""
    later = [python for python in pythons if python > run[-1]]
    lower = f'python_version >= "{dotted(run[0])}"' if run[0] > pythons[0] else ""
    upper = f'python_version < "{dotted(later[0])}"' if later else ""
    bounds = " and ".join(filter(None, (lower, upper)))
    return f"; {bounds}" if bounds else ""


def dotted(version: Version) -> str:
    """Return a Python version as it is written."""
    return ".".join(map(str, version))


if __name__ == "__main__":
    main()
