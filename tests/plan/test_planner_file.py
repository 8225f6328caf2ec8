"""Planner files that claim more than they hold."""

from __future__ import annotations

import numpy as np
import pytest

from goalsets.plan import planner_file


def test_states_without_columns_do_not_fill_the_memory() -> None:
    """The fuzzer found it: rows without columns take no room in a file."""
    layout = {"dim": 18, "groups": {"place": {"indices": "0:2"}}}
    rows = np.zeros((1 << 31, 0), np.float32)
    with pytest.raises(ValueError, match=r"before has 2,147,483,648 states, more than a planner"):
        planner_file._planner({"layout": layout, "parts": []}, {"before": rows})
