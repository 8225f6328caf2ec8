"""GS-HER with trainers that are not ours: relabeled batches, and Stable-Baselines3."""
