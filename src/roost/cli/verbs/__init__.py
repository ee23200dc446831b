"""The verbs, in a package for each thing they are about; `roost.cli.parse.catalog` finds them by name."""
