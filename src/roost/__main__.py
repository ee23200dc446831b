"""`python -m roost`: the command line."""

import sys

from roost.cli import main

sys.exit(main())
