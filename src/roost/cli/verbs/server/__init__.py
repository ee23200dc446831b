"""Verbs about the server itself."""
