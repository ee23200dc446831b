"""The scheduler: values in, decisions out.

Nothing here reads a clock, a file, a socket or a random number; a lint rule keeps it so. Read in this order:
`states`, `model`, `events`, `cluster`, `policy`, `plan`, `reasons`, `estimates`.
"""
