"""The verbs, in a package for each thing they are about; `roost.cli.parse.verb_table` finds them by name."""
