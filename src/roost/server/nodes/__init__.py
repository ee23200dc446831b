"""The machines of a server: added, reached, checked, removed."""
