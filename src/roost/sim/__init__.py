"""The simulator: the real controller and the real store over a virtual clock, scripted nodes, people and faults by seed.

It decides nothing of its own: what it holds against the controller is what the nodes' disks say.
"""
