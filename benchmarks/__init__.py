"""Measurements of what the project promises, each beside its target: `make bench`."""
