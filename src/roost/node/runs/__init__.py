"""Runs: from the request to a process, and from its exit status to the report of its end."""
