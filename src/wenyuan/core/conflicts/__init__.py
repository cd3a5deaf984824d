"""Statements of different passages that contradict one another."""
