"""Plugins: three places that name them, registries that know them, and errors that help."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from goalsets.core.plugins import VARIABLE
from tests.plugin_files import PRINT_SCHEMES, QUERIES, install, run_python, write

# Each starts a process: what is loaded once a process cannot be tested in ours.
pytestmark = pytest.mark.full

KNOWN = "[('gs-mine', 'my_robot')]"


def said(*, cwd: Path, program: str = PRINT_SCHEMES, **options: object) -> str:
    done = run_python("-c", program, cwd=cwd, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def last_line(*, cwd: Path, program: str = PRINT_SCHEMES, **options: object) -> str:
    """The error that a program ends with."""
    done = run_python("-c", program, cwd=cwd, **options)
    assert done.returncode == 1, done.stdout
    return done.stderr.strip().splitlines()[-1]


# --- Where they are named ---


def test_without_plugins_there_is_nothing(tmp_path: Path) -> None:
    write(tmp_path, "my_robot")
    assert said(cwd=tmp_path) == "[]"


@pytest.mark.parametrize("named", ["my_robot", "my_robot.py", "./my_robot.py", " my_robot , "])
def test_the_variable_names_a_module_or_a_file(tmp_path: Path, named: str) -> None:
    write(tmp_path, "my_robot")
    assert said(cwd=tmp_path, plugins=named) == KNOWN


@pytest.mark.parametrize("separator", [",", os.pathsep])
def test_the_variable_names_several(tmp_path: Path, separator: str) -> None:
    write(tmp_path, "my_lab.robots.arm")
    write(tmp_path, "far.other", QUERIES.replace("mine", "mine-2"))
    plugins = separator.join(["my_lab.robots.arm", str(tmp_path / "far" / "other.py")])
    found = said(cwd=tmp_path, plugins=plugins)
    assert found == "[('gs-mine', 'my_lab.robots.arm'), ('gs-mine-2', 'other')]"


def test_an_installed_package_names_it(tmp_path: Path) -> None:
    write(tmp_path / "site", "my_robot")
    install(tmp_path / "site", "my-robot", "my_robot")
    assert said(cwd=tmp_path, path=tmp_path / "site") == KNOWN


def test_python_names_it(tmp_path: Path) -> None:
    write(tmp_path, "robots.my_robot")
    program = (
        "import os, goalsets\n"
        "goalsets.load_plugin('robots/my_robot.py')\n"
        "goalsets.load_plugin('robots/my_robot.py')\n"  # twice does nothing
        f"print(os.environ['{VARIABLE}'])\n"
    )
    path, known = said(cwd=tmp_path, program=program + PRINT_SCHEMES).splitlines()
    assert known == KNOWN
    assert path == str((tmp_path / "robots" / "my_robot.py").resolve())  # for other processes


def test_a_module_that_anybody_imported_is_known_too(tmp_path: Path) -> None:
    write(tmp_path, "my_robot")
    assert said(cwd=tmp_path, program="import my_robot" + PRINT_SCHEMES) == KNOWN
    assert said(cwd=tmp_path, program="import my_robot" + PRINT_SCHEMES, plugins="my_robot") == (
        KNOWN
    )


# --- What registries know ---


def test_what_a_plugin_imports_of_ours_stays_ours(tmp_path: Path) -> None:
    """The plugin is the first to import our query distributions."""
    write(tmp_path, "my_robot")
    program = """
import goalsets
goalsets.load_plugin("my_robot")
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, SCHEMES
ours = [n for r in (QUERY_DISTRIBUTIONS, SCHEMES) for n in r if r.plugin_of(n) is None]
print(len(ours), "mine" in ours, "gs-mine" in ours, SCHEMES.plugin_of("gs-uniform"))
"""
    count, *rest = said(cwd=tmp_path, program=program).split()
    assert int(count) >= 10
    assert rest == ["False", "False", "None"]


def test_what_a_plugin_registers_from_a_helper_of_its_own_is_its(tmp_path: Path) -> None:
    write(tmp_path, "my_robot.parts")
    (tmp_path / "my_robot" / "__init__.py").write_text("import my_robot.parts\n")
    assert said(cwd=tmp_path, plugins="my_robot") == KNOWN


def test_a_plugin_may_read_registries(tmp_path: Path) -> None:
    text = QUERIES + "\nprint('gs-mine' in SCHEMES, 'gs-other' in SCHEMES)\n"
    write(tmp_path, "my_robot", text)
    write(tmp_path, "other", QUERIES.replace("mine", "other"))
    found = said(cwd=tmp_path, plugins="my_robot,other").splitlines()
    assert found == ["True False", KNOWN]  # the one that comes later is not there yet


def test_a_registry_that_is_read_in_the_middle_of_our_imports_waits(tmp_path: Path) -> None:
    """A plugin would import a module of ours that is half made."""
    write(tmp_path, "my_robot")
    program = """
from goalsets.core import Registry, plugins

ours = {"__name__": "goalsets.x", "Registry": Registry}
exec(compile("len(Registry('x'))", "ours.py", "exec"), ours)
print(plugins._state.loaded)
len(Registry("x"))
print(plugins._state.loaded)
"""
    assert said(cwd=tmp_path, program=program, plugins="my_robot").splitlines() == [
        "[]",
        "['my_robot']",
    ]


def test_spawned_workers_know_them(tmp_path: Path) -> None:
    """Whatever asked for the plugin: the variable, or a call."""
    write(tmp_path, "my_robot")
    program = """
import goalsets
from goalsets.crew import Crew
from tests.plugin_files import scheme_in_worker

if __name__ == "__main__":
    goalsets.load_plugin("my_robot.py")
    crew = Crew(scheme_in_worker, ("gs-mine",), 1, print)
    print([answer for _, answer in crew.answer([1, 2])])
"""
    (tmp_path / "program.py").write_text(program)
    done = run_python("program.py", cwd=tmp_path, path=Path(__file__).parents[2])
    assert done.stdout.strip() == "['my_robot', 'my_robot']", done.stderr


# --- Errors ---


def test_an_unknown_module_says_where_it_was_named(tmp_path: Path) -> None:
    assert last_line(cwd=tmp_path, plugins="my_robt") == (
        "goalsets.core.plugins.PluginError: the plugin 'my_robt' (named in GOALSETS_PLUGINS) "
        "cannot be imported: there is no module 'my_robt' among those installed, on PYTHONPATH or "
        f"in {tmp_path}. Name a file by its path, such as 'robots/my_robot.py'."
    )
    assert "the file does not exist" in last_line(cwd=tmp_path, plugins="robots/my_robot.py")
    assert "is neither a module" in last_line(cwd=tmp_path, plugins="my-robot")
    write(tmp_path, "my-robot")
    assert "has a name that is not a valid module name" in last_line(
        cwd=tmp_path, plugins="my-robot.py"
    )
    (tmp_path / "my_robot").mkdir()
    assert "the file is not a Python file" in last_line(cwd=tmp_path, plugins="./my_robot")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import numpy\n\nimport no_such_library\n", "ModuleNotFoundError: No module named"),
        ("import numpy\n\n1 / 0\n", "ZeroDivisionError: division by zero"),
        ("import numpy\n\ndef f(:\n", "SyntaxError: invalid syntax"),
        ("import numpy\n\nraise SystemExit\n", "SystemExit"),
        (
            "from goalsets.relabel.queries import SCHEMES\n\nSCHEMES.add('gs-uniform', 1)\n",
            "the scheme name 'gs-uniform' is already taken by goalsets",
        ),
        (
            "from goalsets.relabel.queries import SCHEMES\n\nSCHEMES['gs-unifrm']\n",
            "unknown scheme 'gs-unifrm': did you mean 'gs-uniform'",
        ),
    ],
)
def test_what_python_said_and_the_line_of_the_plugin(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = write(tmp_path, "my_robot", text)
    error = last_line(cwd=tmp_path, plugins="my_robot")
    assert "the plugin 'my_robot' (named in GOALSETS_PLUGINS) cannot be imported: " in error
    assert expected in error
    assert error.endswith(f"({path.resolve()}, line 3).")


def test_two_plugins_of_one_name_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path, "my_robot")
    write(tmp_path, "other.my_robot")
    write(tmp_path, "my_copy")
    error = last_line(cwd=tmp_path, plugins="my_robot.py,other/my_robot.py")
    assert (
        f"another module is already called 'my_robot' ({tmp_path.resolve() / 'my_robot.py'})"
        in error
    )
    error = last_line(cwd=tmp_path, plugins="my_robot,my_copy")
    assert "the query distribution name 'mine' is already taken by the plugin 'my_robot'" in error


def test_an_entry_point_is_a_module(tmp_path: Path) -> None:
    write(tmp_path, "my_robot")
    install(tmp_path, "my-robot", "my_robot:register")
    error = last_line(cwd=tmp_path)
    assert (
        "'my_robot:register' (named by the installed package 'my-robot') is not a module" in error
    )


def test_an_unknown_name_tells_what_is_loaded(tmp_path: Path) -> None:
    write(tmp_path, "my_robot")
    program = "from goalsets.relabel.queries import SCHEMES; SCHEMES['zzz']"
    assert last_line(cwd=tmp_path, program=program).endswith("her-task.")
    error = last_line(cwd=tmp_path, program=program, plugins="my_robot")
    assert error.endswith("gs-mine. Plugins that are loaded: my_robot.")


def test_a_plugin_that_failed_leaves_nothing_and_may_be_loaded_when_mended(tmp_path: Path) -> None:
    path = write(tmp_path, "my_robot", QUERIES + "\n1 / 0\n")
    program = f"""
import goalsets, os
from pathlib import Path
for _ in range(2):
    try:
        goalsets.load_plugin("my_robot.py")
    except goalsets.GoalsetsError as error:
        print("ZeroDivisionError" in str(error), os.environ.get("{VARIABLE}"))
path = Path({str(path)!r})
path.write_text(path.read_text().replace("1 / 0", "'mended, and of another length'"))
goalsets.load_plugin("my_robot.py")
"""
    found = said(cwd=tmp_path, program=program + PRINT_SCHEMES).splitlines()
    assert found == ["True None", "True None", KNOWN]
