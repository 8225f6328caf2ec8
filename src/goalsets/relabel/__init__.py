"""Hindsight relabeling: which state becomes the goal, and which of its variables matter."""
