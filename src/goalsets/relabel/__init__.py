"""Hindsight relabeling: chooses which state becomes the goal and which of its variables matter."""
