"""Verbs about simulated GPUs."""
