"""Verbs about a user's own defaults."""
