"""Verbs about GPUs."""
