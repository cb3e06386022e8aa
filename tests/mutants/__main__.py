"""`python -m tests.mutants`: the campaign from the command line."""

import sys

from tests.mutants.campaign import main

sys.exit(main())
