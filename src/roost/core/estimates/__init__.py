"""When a waiting job will start: the planner run ahead, what stands before a job, what would start now."""
