"""What people and programs are shown: jobs, GPUs, nodes, sweeps, users, the dashboard."""
