"""Evaluation: episodes, official tasks, suites of questions, and intervals."""
