"""What was: samples, usage, and the archive of ended jobs."""
