"""Test-wide settings."""

from __future__ import annotations

import os

# Tests run side by side: each must keep to one thread, or they wait for each other's.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import HealthCheck, settings

# A busy machine must not fail a test of correctness, and CI must not fail at random: there the
# examples are the same every time, while at home each run looks further.
settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
