"""What jobs wrote: read from the node that has it, copied here when the run has ended."""
