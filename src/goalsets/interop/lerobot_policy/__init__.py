"""A goalsets policy as a LeRobot policy.

    policy = GoalsetsPolicy.from_policy("policy.onnx", goal=state, query="cube_pos")
    policy.reset()
    action = policy.select_action({"observation.state": states})

LeRobot's commands load a saved policy with

    --policy.path=DIRECTORY --discover_packages_path=goalsets.interop.lerobot_policy

The second option accepts packages only, so this is a package.

States and actions are in the units of the logs; the policy standardises them itself. Besides
LeRobot, an exported policy needs `goalsets[runtime]`. A run directory needs `goalsets[train]`. It
may require another version of torch than LeRobot does.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from goalsets.core import GoalsetsError, Query
from goalsets.core.acting import Policy
from goalsets.core.extras import MissingExtraError
from goalsets.core.inputs import QueryLike
from goalsets.interop.asking import Asker, load_policy
from goalsets.interop.lerobot_policy.pipelines import make_goalsets_pre_post_processors
from goalsets.runtime.planning import planner_path

try:
    import torch
    from lerobot.configs.policies import (  # pyright: ignore[reportMissingImports]
        PreTrainedConfig,
    )
    from lerobot.configs.types import (  # pyright: ignore[reportMissingImports]
        FeatureType,
        PolicyFeature,
    )
    from lerobot.policies.pretrained import (  # pyright: ignore[reportMissingImports]
        PreTrainedPolicy,
    )
except ModuleNotFoundError as error:
    raise MissingExtraError(
        f"goalsets.interop.lerobot_policy needs LeRobot, which cannot be imported ({error}): "
        "pip install lerobot"
    ) from None

STATE, ACTION = "observation.state", "action"
GOAL, QUERY = "goalsets.goal", "goalsets.query"
"""Keys of a batch with a question for each row."""


@PreTrainedConfig.register_subclass("goalsets")
@dataclass
class GoalsetsConfig(PreTrainedConfig):
    """The policy, and its first question."""

    policy: str = ""
    """A file that `goalsets export` wrote, or a run directory."""
    query: str = ""
    """The query of the first question; `GoalsetsPolicy.ask` changes it."""
    goal: list[float] = field(default_factory=list)
    """The reference of that question, a full state."""
    state_keys: list[str] = field(default_factory=lambda: [STATE])
    """The entries of a batch that make up the state, in order."""
    device: str | None = "cpu"
    push_to_hub: bool = False

    @property
    def observation_delta_indices(self) -> None:
        """No history."""
        return None

    @property
    def action_delta_indices(self) -> None:
        """LeRobot does not train it."""
        return None

    @property
    def reward_delta_indices(self) -> None:
        """No rewards."""
        return None

    def get_optimizer_preset(self) -> Any:  # noqa: ANN401 - LeRobot's
        """LeRobot does not train it."""
        raise _no_training()

    def get_scheduler_preset(self) -> None:
        """LeRobot does not train it."""
        return

    def validate_features(self) -> None:
        """Check that the entries of the state are among the inputs."""
        missing = [key for key in self.state_keys if key not in (self.input_features or {})]
        if missing:
            raise GoalsetsError(
                f"the state consists of {', '.join(self.state_keys)}, but the inputs lack "
                f"{', '.join(missing)}: set state_keys to those that your robot observes."
            )


class GoalsetsPolicy(PreTrainedPolicy):
    """A goalsets policy as a LeRobot policy.

    Args:
        config: The policy, and its first question.
        policy: The policy itself, if it is loaded already.
    """

    config_class = GoalsetsConfig
    name = "goalsets"

    def __init__(self, config: GoalsetsConfig, policy: Policy | None = None, **_: Any) -> None:  # noqa: ANN401
        """Load the policy, and ask the first question if there is one."""
        super().__init__(config)
        if policy is None and not config.policy:
            raise GoalsetsError("config.policy must name an exported policy or a run directory.")
        self.asker = Asker(load_policy(config.policy) if policy is None else policy)
        if config.query or config.goal:
            self.ask(config.goal, config.query or "task")

    @classmethod
    def from_policy(
        cls,
        policy: str | Path,
        *,
        goal: ArrayLike | None = None,
        query: str = "",
        state_keys: Sequence[str] = (STATE,),
    ) -> GoalsetsPolicy:
        """Make a LeRobot policy from an exported policy or a run directory."""
        loaded = load_policy(policy)
        state = np.zeros(loaded.layout.dim, dtype=np.float32)
        actions = len(loaded.act(state, state, Query.all(loaded.layout)))
        features = {STATE: PolicyFeature(FeatureType.STATE, state.shape)}
        config = GoalsetsConfig(
            policy=str(policy),
            query=query,
            goal=[] if goal is None else np.asarray(goal, dtype=np.float64).tolist(),
            state_keys=list(state_keys),
            input_features=features if list(state_keys) == [STATE] else {},
            output_features={ACTION: PolicyFeature(FeatureType.ACTION, (actions,))},
        )
        return cls(config, loaded)

    # --- Questions -------------------------------------------------------------------------------

    def ask(self, goal: ArrayLike, query: QueryLike) -> None:
        """Ask another question from now on; actions that were decided ahead are dropped.

        Args:
            goal: The reference, a full state `[D]`, or one for each row of the batches.
            query: Text such as `"cube_pos & gripper_opening"`, a `Query` or a mask.
        """
        self.asker.ask(goal, query)

    def reset(self) -> None:
        """Begin an episode. The question stays."""
        self.asker.reset()

    def select_action(self, batch: Mapping[str, Any], **_: Any) -> torch.Tensor:  # noqa: ANN401
        """The next action `[B, A]`.

        Args:
            batch: `observation.state` `[B, D]`, or the entries that `state_keys` names. With
                `goalsets.goal` `[B, D]` and `goalsets.query` (a text, one for each row, or masks
                `[B, D]`), it asks its own question.
        """
        states = self._states(batch)
        return self._tensor(self.asker.act(states), batch)

    def predict_action_chunk(self, batch: Mapping[str, Any], **_: Any) -> torch.Tensor:  # noqa: ANN401
        """The actions `[B, K, A]` that would be taken before the policy decides again."""
        states = self._states(batch)
        return self._tensor(self.asker.act_ahead(states), batch)

    def _states(self, batch: Mapping[str, Any]) -> np.ndarray:
        """The states `[B, D]` of a batch; if the batch has a question, ask it."""
        missing = [key for key in self.config.state_keys if key not in batch]
        if missing:
            raise GoalsetsError(
                f"the batch lacks {', '.join(missing)}; it has {', '.join(sorted(batch))}."
            )
        states = np.concatenate([_array(batch[key]) for key in self.config.state_keys], axis=-1)
        if GOAL in batch or QUERY in batch:
            if not (GOAL in batch and QUERY in batch):
                raise GoalsetsError(f"a question in a batch needs both {GOAL} and {QUERY}.")
            self.ask(_array(batch[GOAL]), self._query(batch[QUERY]))
        return np.atleast_2d(states)

    def _query(self, given: Any) -> QueryLike:  # noqa: ANN401 - text, texts or masks
        if isinstance(given, torch.Tensor):
            return given.detach().cpu().numpy().astype(np.bool_)
        if isinstance(given, Sequence) and not isinstance(given, str):
            layout = self.asker.policy.layout
            return np.stack([Query.parse(text, layout).mask for text in given])
        return given

    def _tensor(self, actions: np.ndarray, batch: Mapping[str, Any]) -> torch.Tensor:
        """Actions as a tensor on the device of the states."""
        state = batch[self.config.state_keys[0]]
        return torch.as_tensor(actions, device=getattr(state, "device", None))

    # --- What LeRobot requires of every policy ---------------------------------------------------

    def forward(self, batch: Mapping[str, Any]) -> Any:  # noqa: ANN401 - never
        """LeRobot does not train it."""
        raise _no_training()

    def get_optim_params(self) -> dict[str, Any]:
        """LeRobot does not train it."""
        return {}

    def _save_pretrained(self, save_directory: Path) -> None:
        """Write the configuration, a copy of the policy beside it, and the pipelines."""
        source = Path(self.config.policy).expanduser()
        target = save_directory / ("policy.onnx" if source.suffix == ".onnx" else "run")
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
            if planner_path(source).exists():
                shutil.copyfile(planner_path(source), planner_path(target))
        before = self.config.policy
        self.config.policy = target.name
        try:
            self.config._save_pretrained(save_directory)
        finally:
            self.config.policy = before
        # LeRobot's commands load them from there.
        for pipeline in make_goalsets_pre_post_processors(self.config):
            pipeline.save_pretrained(save_directory)

    @classmethod
    def from_pretrained(
        cls,
        pretrained_name_or_path: str | Path,
        *,
        config: GoalsetsConfig | None = None,
        **kwargs: Any,  # noqa: ANN401 - LeRobot's
    ) -> GoalsetsPolicy:
        """Load what `save_pretrained` wrote: a directory."""
        place = Path(pretrained_name_or_path)
        if not place.is_dir():
            raise GoalsetsError(
                f"{place} is not a directory: download it first, with huggingface_hub's "
                "snapshot_download, and name the directory."
            )
        config = config or PreTrainedConfig.from_pretrained(place)
        inside = place / config.policy
        if inside.exists():
            config.policy = str(inside)
        return cls(config).eval()


def _array(values: Any) -> np.ndarray:  # noqa: ANN401 - a tensor or an array
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    return np.asarray(values, dtype=np.float32)


def _no_training() -> GoalsetsError:
    return GoalsetsError(
        "LeRobot does not train goalsets policies: import the data set with 'goalsets data import "
        "lerobot', and train with 'goalsets train'."
    )
