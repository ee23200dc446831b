"""What a request does in several steps: acting on selected jobs, administering users, archive, backup, leaving."""
