"""`python -m runcard`: the command line."""

import sys

from runcard.cli import main

sys.exit(main())
