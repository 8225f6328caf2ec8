"""Plugins: modules outside the package that register learners, tasks, sources and the like.

A plugin is a Python module that registers things when it is imported. It is named in one of three
places: the entry points of an installed package (group `goalsets.plugins`), the environment
variable `GOALSETS_PLUGINS`, or a call of `load_plugin`. Plugins from the first two places are
loaded when a registry is first read. Processes that we start inherit the variable, so they know
the same names.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType, ModuleType

from goalsets.core.errors import GoalsetsError

GROUP = "goalsets.plugins"
"""The entry points of installed packages that are plugins; each names a module."""
VARIABLE = "GOALSETS_PLUGINS"
"""The environment variable that names plugins, separated by commas or the system's separator."""
_SEPARATORS = "," + os.pathsep


class PluginError(GoalsetsError):
    """A plugin cannot be imported, or a needed plugin was not named."""


@dataclass
class _State:
    """What this process has loaded."""

    ready: bool = False
    """Whether the plugins that are installed or named in the environment are loaded."""
    loaded: list[str] = field(default_factory=list[str])
    loading: list[str] = field(default_factory=list[str])
    """The plugins that are being imported, the innermost last."""
    undo: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """Actions that remove what the plugin has registered, if its import fails."""
    lock: threading.RLock = field(default_factory=threading.RLock)


_state = _State()


def load_plugin(name: str | Path) -> None:
    """Import a plugin; once it is loaded, further calls do nothing.

    It is added to `GOALSETS_PLUGINS`, so that processes that are started afterwards load it too.

    Args:
        name: A module such as `my_robot` or `my_lab.robots`, which is installed, on the path or
            in the current directory; or a file such as `robots/my_robot.py`.
    """
    use_plugins([str(name)], "by load_plugin")


def use_plugins(names: Iterable[str], place: str) -> None:
    """Load plugins, here and in all processes that this process starts later.

    Args:
        names: Modules or files.
        place: Where they were named, for errors: "by --plugin".
    """
    for name in names:
        absolute = _absolute(name, place)
        _load(absolute, place)
        known = _split(os.environ.get(VARIABLE, ""))
        os.environ[VARIABLE] = ",".join(dict.fromkeys([*known, absolute]))


def loaded_plugins() -> tuple[str, ...]:
    """The plugins that this process has loaded, by the names of their modules."""
    ensure_loaded()
    return tuple(_state.loaded)


def is_loaded(name: str) -> bool:
    """Whether the module of a plugin has been imported, by goalsets or otherwise."""
    return name in sys.modules


def inherited_variables() -> dict[str, str]:
    """The environment variables that make a process on another machine load the same plugins."""
    return {VARIABLE: os.environ[VARIABLE]} if os.environ.get(VARIABLE) else {}


def ensure_loaded() -> None:
    """Load the plugins that are installed or named in the environment, once a process."""
    if _state.ready or _goalsets_is_being_imported():
        # A plugin imports modules of goalsets. It must not find one that is half imported.
        return
    with _state.lock:
        if _state.ready or _state.loading:  # a plugin that reads a registry gets it as it is now
            return
        for name, place in _named():
            _load(name, place)
        _state.ready = True


_PROGRAMS = ("__main__", "__mp_main__")
"""Names of the module that a process runs."""


def registering_plugin() -> str | None:
    """The plugin whose code runs now; None for goalsets itself, a program or a notebook.

    A plugin may import modules of goalsets, and these register entries of goalsets. So the
    innermost module that is being executed decides, not the plugin that is being imported.
    """
    module = next(_executing(), "")
    if _is_ours(module):
        return None
    if _state.loading:
        return _state.loading[-1]
    # The module was imported in the usual way. A program itself is not a plugin: it is `__main__`,
    # or it is executed under a name that nobody can import, as in the workers of execnet.
    return module if module in sys.modules and module not in _PROGRAMS else None


def undo_on_failure(action: Callable[[], None]) -> None:
    """Run `action` if the import of the current plugin fails later."""
    if _state.loading:
        _state.undo.append(action)


def _named() -> Iterator[tuple[str, str]]:
    """All plugins that are named from outside, and where."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP):
        package = entry.dist.name if entry.dist is not None else "?"
        place = f"by the installed package {package!r}"
        if entry.attr:
            raise PluginError(
                f"the plugin {entry.value!r} (named {place}) is not a module: an entry point of "
                f"{GROUP!r} must name a module, which registers when it is imported."
            )
        yield entry.module, place
    for name in _split(os.environ.get(VARIABLE, "")):
        place = f"in {VARIABLE}"
        yield _absolute(name, place), place


def _split(text: str) -> list[str]:
    return [name.strip() for name in re.split(f"[{re.escape(_SEPARATORS)}]", text) if name.strip()]


def _is_file(name: str) -> bool:
    return name.endswith(".py") or "/" in name or os.sep in name


def _absolute(name: str, place: str) -> str:
    """A module's name unchanged; a file as an absolute path, so that other processes find it."""
    if not _is_file(name):
        if not all(part.isidentifier() for part in name.split(".")):
            raise PluginError(
                f"the plugin {name!r} (named {place}) is neither a module such as 'my_robot' or "
                "'my_lab.robots' nor a file such as 'robots/my_robot.py'."
            )
        return name
    path = Path(name).expanduser().resolve()
    if not path.exists():
        why = "does not exist"
    elif path.suffix != ".py" or not path.is_file():
        why = "is not a Python file"
    elif not path.stem.isidentifier():
        why = "has a name that is not a valid module name"
    elif any(character in str(path) for character in _SEPARATORS):
        why = f"has one of {_SEPARATORS!r} in its path, which separate plugins"
    else:
        return str(path)
    raise PluginError(
        f"the plugin {name!r} (named {place}) cannot be imported: the file {why}. Name a file such "
        "as 'robots/my_robot.py', or a module such as 'my_robot'."
    )


def _load(name: str, place: str) -> None:
    """Import a module, or a file under the name of its stem, unless it is loaded already."""
    module = Path(name).stem if _is_file(name) else name
    with _state.lock:
        if module in _state.loading:
            return
        if module in _state.loaded and not _is_file(name):
            return
        before, _state.undo = _state.undo, []
        _state.loading.append(module)
        try:
            if _is_file(name):
                _import_file(module, Path(name))
            else:
                _import_module(module)
        except (Exception, SystemExit) as error:
            for action in reversed(_state.undo):
                action()
            said = _what_python_said(error, module)
            raise PluginError(
                f"the plugin {name!r} (named {place}) cannot be imported: {said}"
            ) from None
        finally:
            _state.loading.pop()
            _state.undo = before
        if module not in _state.loaded:
            _state.loaded.append(module)


def _import_module(module: str) -> None:
    top = module.partition(".")[0]
    if top not in sys.modules and find_spec(top) is None:
        # Unlike `python -m goalsets`, the command `goalsets` does not search the current directory.
        _add_to_path(Path.cwd())
    importlib.import_module(module)


def _import_file(module: str, path: Path) -> None:
    there = sys.modules.get(module)
    if there is not None:
        if _file_of(there) != path:
            raise PluginError(
                f"another module is already called {module!r} ({_file_of(there) or 'built in'}): "
                "rename the file."
            )
        return
    # Spawned processes inherit the search path. So workers find the plugin's classes by the name of
    # the module, and the plugin can import the files beside it, as a script can.
    _add_to_path(path.parent)
    spec = spec_from_file_location(module, path)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    sys.modules[module] = made
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[module]
        raise


def _add_to_path(directory: Path) -> None:
    """Search a directory too, after all others, so that it hides no installed module."""
    if str(directory) not in sys.path:
        sys.path.append(str(directory))
        importlib.invalidate_caches()


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file else None


def _what_python_said(error: BaseException, module: str) -> str:
    """The error in one line, and the line of the plugin that caused it."""
    top = module.partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and error.name in (top, module):
        return (
            f"there is no module {error.name!r} among those installed, on PYTHONPATH or in "
            f"{Path.cwd()}. Name a file by its path, such as 'robots/my_robot.py'."
        )
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}, line {error.lineno})."
    text = str(error).strip().rstrip(".")
    if not isinstance(error, GoalsetsError):
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    lines = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == top
    ]
    return f"{text} ({lines[-1][0]}, line {lines[-1][1]})." if lines else f"{text}."


def _executing() -> Iterator[str]:
    """The names of the modules whose bodies are being executed, the innermost first."""
    frame: FrameType | None = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            yield str(frame.f_globals.get("__name__", ""))
        frame = frame.f_back


def _goalsets_is_being_imported() -> bool:
    return any(map(_is_ours, _executing()))


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "goalsets"
