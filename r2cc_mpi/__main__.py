"""`python -m r2cc_mpi` is `r2cc`."""

import sys

from r2cc_mpi.cli import main

if __name__ == "__main__":
    sys.exit(main())
