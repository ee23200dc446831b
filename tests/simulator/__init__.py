"""The simulator: the server's round loop and store over a virtual clock, with scripted nodes, people and faults by seed.

It decides nothing of its own: what it holds against the server is what the nodes' disks say.
"""
