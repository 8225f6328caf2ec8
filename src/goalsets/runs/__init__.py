"""Runs: their configuration, frame, weights and directory. Nothing here trains."""
