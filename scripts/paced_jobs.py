"""Jobs on paced rails; what the scripts that compare them share."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def run_job(*words: str) -> list[dict[str, Any]]:
    """Run `r2cc run allreduce` and return its iterations, as its JSON report has them.

    Args:
        words: Options.

    Raises:
        SystemExit: The job did not pass.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "r2cc_mpi", "run", "allreduce", *words, "--json", str(report)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}\n{done.stdout}exit status {done.returncode}")
        iterations: list[dict[str, Any]] = json.loads(report.read_text())["r2cc"]["iterations"]
        return iterations
