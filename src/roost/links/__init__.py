"""How the server attaches to a node: a command line whose standard input and output speak the node protocol."""
