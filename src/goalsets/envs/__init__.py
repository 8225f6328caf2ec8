"""Environments and tasks: what the states are, how long an episode is, what success means."""
