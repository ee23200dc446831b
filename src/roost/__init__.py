"""Roost: share GPUs. This package file stays tiny: the node program and the CLI import it first."""

__version__ = "0.1.0"
