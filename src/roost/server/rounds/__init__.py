"""Rounds of deciding: commands and reports in, events, one transaction and messages out."""
