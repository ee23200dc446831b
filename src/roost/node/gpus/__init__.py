"""GPUs: the drivers that are asked about them, and the process that asks."""
