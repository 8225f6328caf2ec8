"""GS-HER with other libraries: relabeled batches, LeRobot and Stable-Baselines3."""
