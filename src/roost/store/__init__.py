"""The store: every job, attempt, setting and device, in SQLite. Rows become values here and nowhere else."""
