"""OGBench's environments for collection: after a reset, nothing depends on earlier episodes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ogbench.manipspace.envs.manipspace_env import ManipSpaceEnv as _Base
else:
    # The environment's class is imported only when one is made, because it loads MuJoCo.
    _Base = object


class Repeatable(_Base):
    """A mixin that comes before a manipulation environment. It does not change the physics.

    OGBench's own reset keeps the last targets of the previous episode, and an oracle uses them for
    one step before it gets its first target. This reset restores the initial targets, so that an
    episode depends only on its seed.

    OGBench also computes the same description of its state three times a step, which takes a tenth
    of the whole time. Here it is computed once.
    """

    _description: dict[str, Any] | None = None

    def post_compilation(self) -> None:
        """Keep what episodes change: the targets, and the parts of the model that show them."""
        super().post_compilation()
        assert self._model is not None
        self._targets = copy.deepcopy(
            {name: value for name, value in vars(self).items() if name.startswith("_target_")}
        )
        self._sites = self._model.site_pos.copy()
        self._damping = self._model.dof_damping.copy()

    def reset(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as OGBench has it
        """Restore the initial targets, then reset."""
        self._description = None
        if self._model is not None:
            vars(self).update(copy.deepcopy(self._targets))
            self._model.site_pos[:] = self._sites
            self._model.dof_damping[:] = self._damping
        return super().reset(*args, **kwargs)

    def set_new_target(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as OGBench has it
        """Choose a target. The description contains it, so it must be computed again."""
        self._description = None
        return super().set_new_target(*args, **kwargs)

    def post_step(self) -> None:
        """Complete a step. The description must then be computed again."""
        super().post_step()
        self._description = None

    def compute_ob_info(self) -> dict[str, Any]:
        """Describe the state, once for each state and target."""
        if self._description is None:
            self._description = super().compute_ob_info()
        return self._description


def make_environment(env_id: str) -> Any:  # noqa: ANN401 - OGBench has no types
    """Create an environment without Gymnasium's wrappers, which would end episodes."""
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
