"""Verbs about the scheduler, its policy and its settings."""
