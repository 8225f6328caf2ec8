"""Training: makes a run directory from a configuration and a store."""
