"""Write a policy as one ONNX file, after checking that the export answers like the policy."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goalsets.core import GoalsetsError, layout_to_dict
from goalsets.core.door import seal
from goalsets.core.door.seal import OPEN_SEAL
from goalsets.core.extras import require
from goalsets.export.card import make_card
from goalsets.export.convert import convert
from goalsets.export.parity import QUESTIONS, Parity, measure_parity
from goalsets.export.traced import trace
from goalsets.learners import Learner
from goalsets.plan import Planner, write_planner
from goalsets.policy import TrainedPolicy
from goalsets.runs.frame import Frame
from goalsets.runs.run import Run
from goalsets.runtime.model_file import (
    ACTION,
    CARD_KEY,
    DIGEST_KEY,
    DISTANCE,
    FORMAT,
    FORMAT_KEY,
    INPUTS,
    LAYOUT_KEY,
    understand,
)
from goalsets.runtime.planning import digest_of, planner_path
from goalsets.runtime.policy import RuntimePolicy
from goalsets.workers import silence

if TYPE_CHECKING:
    import onnx  # pyright: ignore[reportMissingImports] - an extra


class ExportError(GoalsetsError):
    """An export cannot be written."""


@dataclass(frozen=True)
class Exported:
    """A file that was written, with its properties."""

    path: Path
    size: int
    """In bytes."""
    operations: int
    parity: Parity
    card: dict[str, Any]
    planner: Path | None = None
    """The file of the planner beside it; None if there is none."""


def export_onnx(
    run: Run,
    output: str | Path,
    step: int | None = None,
    *,
    planner: Planner | None = None,
    say: Callable[[str], None] = silence,
) -> Exported:
    """Write a run's policy as one ONNX file.

    The inputs are `observation` and `goal`, float32[B, D] in the environment's units, and `query`,
    bool[B, D]. The output `action` is float32[B, A] within its bounds, or float32[B, K, A] if the
    policy decides K actions at once. If the learner has a distance, the output `distance` is
    float32[B]. The file is written only if the export answers ten thousand questions like the
    policy. A planner is written as a separate file beside it.

    Args:
        run: The run.
        output: The file.
        step: A step whose weights were kept; the latest checkpoint unless given.
        planner: A planner to export with it; `goalsets.runs.planning.planner_of` gives a run's.
        say: Called with notes on the progress.

    Raises:
        ParityError: The export does not answer like the policy. Nothing is written.
    """
    output = Path(output)
    _import_onnx()
    if output.is_dir() or not output.absolute().parent.is_dir():
        raise ExportError(f"{output} cannot be a file: choose one in a directory that exists.")
    policy, progress = run.load(step)
    if type(policy.learner).act is not Learner.act:
        raise ExportError(
            f"{run.config.learner} overrides `act` to use its own memory, and an ONNX file has "
            "none: only what its `decide` computes can be exported."
        )
    say("tracing the policy")
    model = build_model(policy, run.frame)
    _describe(model, make_card(run, policy, progress), run)
    say(f"asking it {QUESTIONS:,} questions")
    exported = RuntimePolicy(understand(seal(model.SerializeToString(deterministic=True)), output))
    parity = measure_parity(
        policy,
        exported,
        run.frame.layout,
        run.frame.normaliser,
        run.frame.bounds,
    )
    parity.check()
    beside, told = _write_planner(planner, output) if planner is not None else (None, None)
    card = make_card(run, policy, progress, parity, told)
    _describe(model, card, run)
    data = seal(model.SerializeToString(deterministic=True))
    _write(output, data)
    return Exported(output, len(data), len(model.graph.node), parity, card, beside)


def build_model(policy: TrainedPolicy, frame: Frame) -> onnx.ModelProto:
    """The policy as an ONNX model, without its description."""
    from onnx import checker  # pyright: ignore[reportMissingImports] - an extra

    model = convert(trace(policy, frame.normaliser), INPUTS, (ACTION, DISTANCE))
    checker.check_model(model, full_check=True)
    return model


def _describe(model: onnx.ModelProto, card: dict[str, Any], run: Run) -> None:
    """Put the layout and the card into the model's metadata."""
    from onnx import helper  # pyright: ignore[reportMissingImports] - an extra

    layout = json.dumps(layout_to_dict(run.frame.layout))
    helper.set_model_props(
        model,
        {
            FORMAT_KEY: FORMAT,
            LAYOUT_KEY: layout,
            CARD_KEY: json.dumps(card),
            DIGEST_KEY: OPEN_SEAL,
        },
    )


def _write_planner(planner: Planner, output: Path) -> tuple[Path, dict[str, str]]:
    """Write a planner beside a policy; return its file, and its entry in the card."""
    path = planner_path(output)
    write_planner(planner, path)
    return path, {"digest": digest_of(path), "data": planner.data}


def _import_onnx() -> None:
    for library in ("onnx", "onnxruntime", "onnxscript"):
        require(library, "an export", "onnx")


def _write(path: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise ExportError(f"cannot write {path}: {error.strerror}.") from error
