"""Texts and tables for people. Values in, lines out."""
