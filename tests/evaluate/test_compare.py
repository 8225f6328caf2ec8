"""Paired comparisons against what is known of them."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets import GoalsetsError
from goalsets.evaluate.compare import compare_outcomes, compare_records, mcnemar, paired_bootstrap


def outcomes(both: int, first: int, second: int, neither: int) -> tuple[list[bool], list[bool]]:
    kinds = [(True, True)] * both + [(True, False)] * first
    kinds += [(False, True)] * second + [(False, False)] * neither
    return [a for a, _ in kinds], [b for _, b in kinds]


def test_mcnemar_is_the_sign_test_on_episodes_that_only_one_solved() -> None:
    assert mcnemar(*outcomes(40, 1, 9, 50)) == pytest.approx(2 * 11 / 2**10)
    assert mcnemar(*outcomes(0, 1, 9, 0)) == pytest.approx(2 * 11 / 2**10)
    assert mcnemar(*outcomes(10, 0, 0, 10)) == 1.0
    assert mcnemar(*outcomes(10, 5, 5, 10)) == 1.0


def test_bootstrap_has_the_spread_of_paired_differences() -> None:
    first, second = outcomes(30, 5, 25, 40)
    low, high = paired_bootstrap(first, second, np.random.default_rng(0))
    spread = 1.96 * np.sqrt((0.30 - 0.20**2) / 100)
    assert low == pytest.approx(0.20 - spread, abs=0.015)
    assert high == pytest.approx(0.20 + spread, abs=0.015)
    again = paired_bootstrap(first, second, np.random.default_rng(0))
    assert (low, high) == again


def test_comparison_reads_well() -> None:
    found = compare_outcomes("cube_pos", *outcomes(30, 5, 25, 40))
    assert (found.only_first, found.only_second, found.episodes) == (5, 25, 100)
    assert str(found).startswith("+20 points [10, 30], p = 0.0003")


def record(digest: str, **predicates: list[bool]) -> dict:
    return {
        "digest": digest,
        "by_predicate": {
            name: {
                "episodes": [
                    {"task_id": 1, "seed": seed, "success": success}
                    for seed, success in enumerate(given)
                ]
            }
            for name, given in predicates.items()
        },
    }


def test_records_are_paired_by_episode_and_only_where_both_were_asked() -> None:
    first = record("d", near=[True, False, True], far=[True])
    second = record("d", near=[True, True])
    second["by_predicate"]["far"] = {"not_asked": "because"}
    (found,) = compare_records(first, second)
    assert (found.predicate, found.episodes, found.difference) == ("near", 2, 0.5)


def test_errors() -> None:
    with pytest.raises(GoalsetsError, match="only records of one suite can be paired"):
        compare_records(record("d"), record("e"))
    with pytest.raises(GoalsetsError, match="of the same episodes, got 2 and 1"):
        mcnemar([True, False], [True])
