"""The planner of an exported policy: a file beside it, whose digest is in the policy's card.

So a planner of another export, or a damaged one, is not used. Only planning needs this module, and
with it scipy and safetensors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalsets.core import GoalsetsError, door
from goalsets.plan import Planner, PlanningPolicy, read_planner

if TYPE_CHECKING:
    from goalsets.runtime.policy import RuntimePolicy

LARGEST = 1 << 30
"""Bytes of the largest planner that is read."""
CARD_PLANNER = "planner"
"""The planner's entry in the card; None if the policy was exported without a planner."""


def planner_path(model: Path) -> Path:
    """The file of the planner of an exported policy: `policy.planner.safetensors`."""
    return model.with_suffix(".planner.safetensors")


def digest_of(path: Path) -> str:
    """The digest of a file, as in the card."""
    data = door.read_bytes(path, what="the planner", limit=LARGEST)
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def plan_with(
    policy: RuntimePolicy, model: Path, planner: Planner | str | Path | None
) -> PlanningPolicy:
    """An exported policy that acts by chains of questions: see `RuntimePolicy.planning`."""
    if planner is None:
        planner = read_own_planner(model, policy.card)
    elif not isinstance(planner, Planner):
        planner = read_planner(planner)
    return PlanningPolicy(policy, planner)


def read_own_planner(model: Path, card: Mapping[str, Any]) -> Planner:
    """Read the planner that was exported with a policy, and refuse another."""
    told = card.get(CARD_PLANNER)
    if not isinstance(told, Mapping):
        raise GoalsetsError(
            f"{model} was exported without a planner: export it with 'goalsets export RUN --plan', "
            "or name the file of one."
        )
    path = planner_path(model)
    if not path.exists():
        raise GoalsetsError(
            f"{model} was exported with a planner, but there is no {path}: copy that file, too."
        )
    if digest_of(path) != told.get("digest"):
        raise GoalsetsError(
            f"{path} is not the planner that was exported with {model}: it is of another export, "
            "or damaged. Copy both files from the same export, or name the planner to use it "
            "nonetheless."
        )
    return read_planner(path)
