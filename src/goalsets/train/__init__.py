"""Training: a configuration and a store become a run directory."""
