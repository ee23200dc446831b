"""GPU claims: locks by which the Roosts of one machine keep off each other's GPUs."""
