"""The plugins that a run needs: stored with its configuration, and checked when it is opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from goalsets.condition import CONDITIONERS
from goalsets.core import Registry, door
from goalsets.core.plugins import VARIABLE, PluginError, ensure_loaded, is_loaded
from goalsets.envs.tasks import TASKS
from goalsets.learners import LEARNERS
from goalsets.relabel.queries import QUERY_DISTRIBUTIONS, SCHEMES
from goalsets.runs.config import TrainConfig

KEY = "plugins"
"""The key in `config.json`, beside the fields of the configuration. It is not one of them, so the
name of a run does not depend on it."""


def needed_plugins(config: TrainConfig) -> list[str]:
    """The modules of the plugins that a run of this configuration needs."""
    scheme = SCHEMES[config.scheme]
    parts: list[tuple[Registry[Any], str]] = [
        (LEARNERS, config.learner),
        (SCHEMES, config.scheme),
        (QUERY_DISTRIBUTIONS, scheme.queries),
        (CONDITIONERS, scheme.conditioning),
    ]
    if config.task in TASKS:  # a run on a user's own data has no task
        parts.append((TASKS, config.task))
    found = {registry.plugin_of(name) for registry, name in parts}
    return sorted(plugin for plugin in found if plugin is not None)


def write_config(config: TrainConfig) -> str:
    """The text of a run's `config.json`: the configuration, and the plugins if it needs any."""
    plugins = needed_plugins(config)
    if not plugins:
        return config.to_json()
    return json.dumps({**config.plain(), KEY: plugins}, indent=2)


def read_config(path: Path) -> TrainConfig:
    """Read a file with the text of `write_config`, from this or an older version.

    The plugins that a run directory names are not imported: the user decides which code runs.
    """
    plain = door.read_json(path)
    if isinstance(plain, dict) and KEY in plain:
        _check_loaded(plain.pop(KEY))
    return TrainConfig.from_plain(plain)


def _check_loaded(plugins: Any) -> None:  # noqa: ANN401 - whatever the file holds
    if not isinstance(plugins, list) or not all(isinstance(name, str) for name in plugins):
        raise PluginError(f"{KEY!r} in the configuration must be a list of names, got {plugins!r}.")
    ensure_loaded()
    missing = [name for name in plugins if not is_loaded(name)]
    if missing:
        names = " and ".join(map(repr, missing))
        options = " ".join(f"--plugin {name}" for name in missing)
        raise PluginError(
            f"it needs the plugin{'s' * (len(missing) > 1)} {names}, not loaded here: add "
            f"{options} to the command, set {VARIABLE}={','.join(missing)}, or install the package "
            "that has it. A run directory never imports a plugin by itself."
        )
