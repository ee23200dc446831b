"""From the words of a command line to values: options, values, scripts, files of jobs; and the help about them."""
