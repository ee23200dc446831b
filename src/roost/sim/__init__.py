"""`roost simulate`: a workload replayed through the scheduler over a virtual clock, under several policies."""
