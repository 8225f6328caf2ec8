"""Data: logs of any format become trajectories that a learner can draw from."""
