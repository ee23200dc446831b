"""Verbs about this program: help, completion, version."""
