"""The program behind `scripts/reproduce`."""

from __future__ import annotations

import sys

from r2cc_mpi.errors import R2ccError
from scripts.network import requirements

if __name__ == "__main__":
    try:
        if not {"-h", "--help"} & set(sys.argv[1:]):
            requirements.check()
        from scripts.reproduction.command_line import main

        sys.exit(main(sys.argv[1:]))
    except R2ccError as error:
        print(f"scripts/reproduce: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(error.exit_code)
