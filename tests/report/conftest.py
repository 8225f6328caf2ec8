"""Run directories as a training and its evaluations leave them, without the training."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from goalsets.runs.config import TrainConfig

CUBE, MAZE = "cube-single-noisy-v0", "pointmaze-medium-navigate-v0"
STEPS = 1000


def official(step: int, outcomes: Sequence[bool], **fields: object) -> dict:
    """A record of `goalsets eval`; episodes take turns over the five goals."""
    episodes = [
        {"task_id": 1 + i % 5, "seed": 1_000_000 + i, "success": bool(success), "steps": 9}
        for i, success in enumerate(outcomes)
    ]
    return {
        "kind": "official",
        "success": sum(map(bool, outcomes)) / len(outcomes),
        "num_episodes": len(outcomes),
        "step": step,
        "training_seconds": step / 10,
        "episodes": episodes,
        **fields,
    }


def share(percent: float, count: int = 20) -> list[bool]:
    """So many outcomes of which a share are successes."""
    return [i < round(percent / 100 * count) for i in range(count)]


def suite(answers: Mapping[str, float | str], step: int = STEPS, count: int = 20) -> dict:
    """A record of `goalsets suite run`: success by predicate, or why it was not asked."""
    by_predicate = {
        name: {"query": name, "not_asked": told}
        if isinstance(told, str)
        else {"query": name, **official(step, share(told, count))}
        for name, told in answers.items()
    }
    record = {"kind": "suite", "suite": "small", "digest": "abcdef0123", "step": step}
    return {**record, "by_predicate": by_predicate}


def write_run(path: Path, records: Sequence[dict] = (), **fields: object) -> Path:
    """Write a run directory with these records."""
    config = TrainConfig(**{"task": CUBE, "steps": STEPS, "batch_size": 512, **fields})
    path.mkdir(parents=True)
    (path / "config.json").write_text(config.to_json())
    data = {"fingerprint": "f" * 32, "episodes": 300, "transitions": 300_000}
    (path / "data.json").write_text(json.dumps(data))
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (path / "evaluations.jsonl").write_text(lines)
    return path


def scored(path: Path, percent: float, **fields: object) -> Path:
    """A finished run with a success at its last step."""
    return write_run(path, [official(STEPS, share(percent))], **fields)
