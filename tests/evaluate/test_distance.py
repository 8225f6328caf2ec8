"""The distance diagnostic, and the mean of the last evaluations."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from goalsets import GoalsetsError
from goalsets.cli import main
from goalsets.data.store import Store
from goalsets.evaluate import distance
from goalsets.evaluate.distance import (
    Rollout,
    common_task,
    predict_along,
    record_curves,
    successful_rollout,
)
from goalsets.evaluate.official import average, last_steps, recorded
from goalsets.runs.run import Run
from tests.evaluate.conftest import make_run


def rollout(store: Store) -> Rollout:
    seen = np.array(store.validation.observations[:20])
    return Rollout(Path("run"), 1, 0, seen, seen[-1])


def test_each_run_is_asked_what_it_hears(gcdl: Run, store: Store, tmp_path: Path) -> None:
    full = make_run(tmp_path / "full", store, learner="gcdl", scheme="her-full", steps=1)
    curves = predict_along([full, gcdl], rollout(store), ["all", "ee_pos"])
    assert [curve.label for curve in curves] == [
        "gcdl her-full",
        "gcdl gs-blockwise: block0_pos",
        "gcdl gs-blockwise: all",
        "gcdl gs-blockwise: ee_pos",
    ]
    assert all(curve.distances.shape == (20,) for curve in curves)
    assert (curves[1].distances != curves[2].distances).any()


def test_runs_of_one_name_get_their_directories(gcdl: Run, store: Store) -> None:
    labels = [curve.label for curve in predict_along([gcdl, gcdl], rollout(store))]
    assert labels == ["gcdl gs-blockwise (gcdl)"] * 2


def test_command(
    gcdl: Run,
    store: Store,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distance, "successful_rollout", lambda *_, **__: rollout(store))
    picture = tmp_path / "out" / "distance.png"
    main(["distance", str(gcdl.path), "--query", "all", "-o", str(picture)])
    assert "gcdl gs-blockwise: block0_pos" in capsys.readouterr().out
    assert picture.exists()
    with picture.with_suffix(".csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["step", "gcdl gs-blockwise: block0_pos", "gcdl gs-blockwise: all"]
    assert len(rows) == 21
    kept = gcdl.evaluations()[-1]
    assert (kept["kind"], kept["step"], kept["rollout"]["steps"]) == ("distance", 6, 19)
    assert [curve["query"] for curve in kept["curves"]] == ["block0_pos", "all"]
    assert kept["curves"][0]["distances"][-1] == pytest.approx(float(rows[-1][1]), abs=1e-3)


def test_a_directory_that_cannot_be_written_is_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path / "run", store, learner="gcdl", steps=1)
    seen = rollout(store)
    curves = predict_along([run], seen)
    (run.path / "evaluations.jsonl").mkdir()
    assert "cannot write" in record_curves(curves, seen)[0]


def test_the_digest_is_of_the_rollout(store: Store) -> None:
    seen = rollout(store)
    assert seen.digest == rollout(store).digest
    other = Rollout(seen.by, seen.task_id, seen.seed, seen.observations, seen.observations[0])
    assert other.digest != seen.digest


@pytest.mark.full
def test_no_success_is_told(gcdl: Run) -> None:
    with pytest.raises(GoalsetsError, match="no rollout succeeded: 1 episodes with each of 1 runs"):
        successful_rollout([gcdl], task_id=1, attempts=1)


def test_errors(gcdl: Run, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        ([str(run.path)], "gcbc learns no distance"),
        ([str(gcdl.path), "--query", "cub_pos"], "unknown group 'cub_pos'"),
        ([str(gcdl.path), "--task-id", "9"], "task ids are 1 to 5, got 9"),
        (
            [str(gcdl.path), "--attempts", "0"],
            "Error parsing --attempts: expected 1 or more, got 0",
        ),
    ):
        with pytest.raises(SystemExit):
            main(["distance", *arguments])
        assert message in capsys.readouterr().err
    with pytest.raises(GoalsetsError, match="expected runs of one task, got no runs"):
        common_task([])


# --- The mean of the last evaluations -----------------------------------------------------------


def record(step: int, success: float, **fields: object) -> dict:
    goals = {"1": success, "2": 1.0}
    common = {"kind": "official", "num_episodes": 10, "mean_steps_to_success": None}
    return {**common, "step": step, "success": success, "by_goal": goals, **fields}


def test_average() -> None:
    mean = average([record(2, 0.5), record(4, 0.7), record(6, 0.9)])
    assert mean["steps"] == [2, 4, 6]
    assert mean["success"] == pytest.approx(0.7)
    assert (mean["lowest"], mean["highest"]) == (0.5, 0.9)
    assert mean["by_goal"] == {"1": pytest.approx(0.7), "2": 1.0}


def test_last_steps(run: Run) -> None:
    assert last_steps(run, 3) == [2, 4, 6]
    with pytest.raises(GoalsetsError, match="has not kept the weights of 4 steps, only: 2, 4, 6"):
        last_steps(run, 4)
    with pytest.raises(GoalsetsError, match="last must be 1 or more, got 0"):
        last_steps(run, 0)


def test_recorded_evaluations_are_not_run_again(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", store, keep_every=2)
    for step, success in ((2, 0.2), (4, 0.4), (6, 0.9)):
        run.add_evaluation(record(step, success))
    run.add_evaluation(record(6, 0.6))
    run.add_evaluation(record(6, 0.1, num_episodes=5))
    assert recorded(run, 6, episodes=2) == record(6, 0.6)
    assert recorded(run, 6, episodes=3) is None
    main(["eval", str(run.path), "--last", "3", "--episodes", "2"])
    assert "mean of the last 3: success 40%, between 20% and 60%" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["eval", str(run.path), "--last", "3", "--step", "2"])
    assert "give --step or --last, not both" in capsys.readouterr().err
