"""What the verbs share while they run: the server, which jobs, following output, questions, failures, exit codes."""
