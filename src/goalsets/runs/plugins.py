"""Which plugins a run needs: written beside its configuration, and asked for when it is opened."""

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
"""In `config.json`, beside the fields of the configuration. It is no part of that, so a run is
called the same with and without it."""


def needed_plugins(config: TrainConfig) -> list[str]:
    """The modules of the plugins without which a run of this configuration cannot be opened."""
    scheme = SCHEMES[config.scheme]
    parts: list[tuple[Registry[Any], str]] = [
        (LEARNERS, config.learner),
        (SCHEMES, config.scheme),
        (QUERY_DISTRIBUTIONS, scheme.queries),
        (CONDITIONERS, scheme.conditioning),
    ]
    if config.task in TASKS:  # a store of one's own is trained on without a task
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
    """Read a file with what `write_config` gave, now or in an older version.

    Nothing is imported because a run directory names it: whoever opens a run decides what code is
    run for it.
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
