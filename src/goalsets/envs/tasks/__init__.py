"""Every task by name.

All files in this directory are imported, and add their tasks to `TASKS`. Other packages do the
same: `from goalsets.envs.tasks import TASKS, Task`.
"""

from goalsets.core.registry import import_modules
from goalsets.envs.adapter import Adapter, CannotError, Start, Stepped
from goalsets.envs.task import TASKS, Scene, Script, Task

import_modules(__name__)

__all__ = ["TASKS", "Adapter", "CannotError", "Scene", "Script", "Start", "Stepped", "Task"]
