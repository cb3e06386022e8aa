"""`python -m harness.gate`: the command's name; the gate itself is in `harness.asv`."""

import sys

from harness.asv.gate import main

if __name__ == "__main__":
    sys.exit(main())
