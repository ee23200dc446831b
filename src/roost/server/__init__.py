"""The server: the only place where parts are joined.

`rounds` decides, `views` shows, `operations` does what takes several steps; `parts` makes them all and `main` starts them.
"""
