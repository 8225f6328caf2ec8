"""Every task by name.

A file in this directory that adds tasks to `TASKS` is imported because it is there. Tasks from
elsewhere do the same: `from goalsets.envs.tasks import TASKS, Task`.
"""

from goalsets.core.registry import import_modules
from goalsets.envs.adapter import Adapter, CannotError, Start, Stepped
from goalsets.envs.task import TASKS, Scene, Script, Task

import_modules(__name__)

__all__ = ["TASKS", "Adapter", "CannotError", "Scene", "Script", "Start", "Stepped", "Task"]
