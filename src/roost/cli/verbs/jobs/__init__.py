"""Verbs about jobs."""
