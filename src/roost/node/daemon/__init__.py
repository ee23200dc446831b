"""The daemon of a state directory: its link to the server, and the parts that it joins."""
