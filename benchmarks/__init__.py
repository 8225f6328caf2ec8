"""Measurements of what the project promises, each line beside its target: `make bench`."""
