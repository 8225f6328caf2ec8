"""LeRobot's pipelines before and after a goalsets policy."""

from __future__ import annotations

from typing import Any


def make_goalsets_pre_post_processors(
    config: Any,  # noqa: ANN401 - a GoalsetsConfig
    dataset_stats: Any = None,  # noqa: ANN401, ARG001 - LeRobot passes it to every policy
) -> tuple[Any, Any]:
    """LeRobot's pipelines before and after the policy.

    They add the batch axis and move tensors to the device and back. LeRobot's commands rename
    entries in the first step.
    """
    from lerobot.processor import (  # pyright: ignore[reportMissingImports]
        AddBatchDimensionProcessorStep,
        DeviceProcessorStep,
        PolicyProcessorPipeline,
        RenameObservationsProcessorStep,
    )
    from lerobot.processor.converters import (  # pyright: ignore[reportMissingImports]
        policy_action_to_transition,
        transition_to_policy_action,
    )

    before = PolicyProcessorPipeline(
        steps=[
            RenameObservationsProcessorStep(rename_map={}),
            AddBatchDimensionProcessorStep(),
            DeviceProcessorStep(device=config.device),
        ],
        name="policy_preprocessor",
    )
    after = PolicyProcessorPipeline(
        steps=[DeviceProcessorStep(device="cpu")],
        name="policy_postprocessor",
        to_transition=policy_action_to_transition,
        to_output=transition_to_policy_action,
    )
    return before, after
