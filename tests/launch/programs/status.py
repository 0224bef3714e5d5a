"""Runs `r2cc` with the given words and tells its exit status, which a launcher would mix with the others'."""

from __future__ import annotations

import subprocess
import sys

status = subprocess.run([sys.executable, "-m", "r2cc_mpi", *sys.argv[1:]], check=False).returncode
sys.stdout.write(f"status {status}\n")
