"""Verbs about tokens."""
