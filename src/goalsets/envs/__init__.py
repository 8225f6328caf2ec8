"""Environments and tasks: their states, the length of episodes, and what success means."""
