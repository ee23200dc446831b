"""The verbs, grouped in packages; `roost.cli.parse.verb_table` finds them by name."""
