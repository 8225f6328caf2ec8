"""Exported policies, which need only numpy and onnxruntime, and no torch.

policy = goalsets.runtime.load("policy.onnx")
action = policy.act(observation, goal, "cube_pos & eff_yaw")

If a planner was exported with the policy, `policy.planning()` acts by chains of questions.
"""

from goalsets.runtime.model_file import ModelFile, ModelFileError, read_model_file
from goalsets.runtime.policy import RuntimePolicy, load

__all__ = ["ModelFile", "ModelFileError", "RuntimePolicy", "load", "read_model_file"]
