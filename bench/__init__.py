"""Benchmarks of Roost beside its peers and the machine's own floor, measured in the same run.

Run as modules from the root of the repository: `python -m bench.peers`, `python -m bench.submit`,
`python -m bench.depth`. Standard library only; nothing here is imported by Roost.
"""
