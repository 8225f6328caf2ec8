"""OGBench's environments as collection needs them: every reset forgets the past."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ogbench.manipspace.envs.manipspace_env import ManipSpaceEnv as _Base
else:
    # The environments' own class is imported only where one is made: it loads MuJoCo.
    _Base = object


class Repeatable(_Base):
    """Goes before a manipulation environment in the order of methods. The physics is untouched.

    A reset of the environment alone keeps where the last targets of the episode before were, and
    an oracle looks there for one step before it learns of its first target. Here a reset restores
    them, and an episode depends on its seed alone.

    The environment also computes the same description of its state three times a step, a tenth of
    the whole time. Here it does so once.
    """

    _description: dict[str, Any] | None = None

    def post_compilation(self) -> None:
        """Remember what episodes change: the targets, and what hangs on them in the model."""
        super().post_compilation()
        assert self._model is not None
        self._targets = copy.deepcopy(
            {name: value for name, value in vars(self).items() if name.startswith("_target_")}
        )
        self._sites = self._model.site_pos.copy()
        self._damping = self._model.dof_damping.copy()

    def reset(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as OGBench has it
        """Forget the episode before, then reset."""
        self._description = None
        if self._model is not None:
            vars(self).update(copy.deepcopy(self._targets))
            self._model.site_pos[:] = self._sites
            self._model.dof_damping[:] = self._damping
        return super().reset(*args, **kwargs)

    def set_new_target(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as OGBench has it
        """Choose a target; the description names it, so it must be computed again."""
        self._description = None
        return super().set_new_target(*args, **kwargs)

    def post_step(self) -> None:
        """Complete a step, after which the state is another."""
        super().post_step()
        self._description = None

    def compute_ob_info(self) -> dict[str, Any]:
        """Describe the state, once for each state and target."""
        if self._description is None:
            self._description = super().compute_ob_info()
        return self._description


def make_environment(env_id: str) -> Any:  # noqa: ANN401 - OGBench has no types
    """Create an environment without Gymnasium's wrappers: it never ends an episode by itself."""
    import gymnasium
    import ogbench  # noqa: F401 - importing it registers its environments
    from gymnasium.envs.registration import load_env_creator

    spec = gymnasium.spec(env_id)
    assert isinstance(spec.entry_point, str)
    creator = load_env_creator(spec.entry_point)
    kwargs = {**spec.kwargs, "terminate_at_goal": False}
    if isinstance(creator, type):
        repeatable = type("RepeatableEnv", (Repeatable, creator), {})
        return repeatable(**kwargs, mode="data_collection")
    return creator(**kwargs)
