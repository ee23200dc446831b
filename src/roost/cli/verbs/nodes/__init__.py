"""Verbs about nodes."""
