"""What runs have written: read by offset, followed as it grows, kept within its size."""
