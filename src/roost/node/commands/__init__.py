"""The verbs of the node program besides `daemon`."""
