"""The node program: runs jobs on one machine for one account and outlives its link.

Standard library only, Python 3.8 and later. Imports nothing of Roost above it; the server speaks to it through the
lines that `protocol.py` names and `docs/reference/protocol.md` explains.
"""
