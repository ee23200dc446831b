"""Verbs about notifications."""
