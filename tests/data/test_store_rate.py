"""The store keeps the steps a second, where they are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goalsets.data.store import Store, StoreError
from goalsets.data.writer import write_store
from tests.data.test_store import make_episodes


@pytest.mark.parametrize("mapped", [False, True])
def test_the_rate_is_kept(tmp_path: Path, mapped: bool) -> None:
    known = write_store(tmp_path / "a", make_episodes([4]), rate=12.5)
    assert Store.open(tmp_path / "a", mapped=mapped).rate == known.rate == 12.5
    unknown = write_store(tmp_path / "b", make_episodes([4]))
    assert Store.open(tmp_path / "b", mapped=mapped).rate is unknown.rate is None
    # What older versions wrote has no such key, and the content is the same with it.
    assert "rate" not in json.loads((tmp_path / "b" / "store.json").read_text())
    assert known.fingerprint == unknown.fingerprint


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_is_above_zero(tmp_path: Path, rate: float) -> None:
    with pytest.raises(StoreError, match="steps a second above 0, got"):
        write_store(tmp_path / "s", make_episodes([4]), rate=rate)
    assert not (tmp_path / "s").exists()
