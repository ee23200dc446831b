"""What starts now and where: placement, holds for wide jobs, preemption, retries."""
