"""What the kernel offers, and nothing of Roost: processes, cgroups, clocks, the event loop."""
