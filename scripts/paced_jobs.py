"""Jobs on paced rails, and the chunks that their ranks send; what the scripts that compare them share."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

from algorithms.stripes import Stripes
from algorithms.transfer import ScheduleError
from analysis.simulation.chunks import chunked
from r2cc_mpi.protocol.settings import Settings


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


def chunks_of_ranks(stripes: Stripes, size_bytes: int, rail_bytes_per_s: float) -> Stripes:
    """Cut stripes as the executor does, or nearly so where the grid of that would be too fine."""
    chunk = Fraction(1, -(-size_bytes // Settings.for_rate(rail_bytes_per_s).chunk_bytes))
    try:
        return chunked(stripes, chunk)
    except ScheduleError:
        return chunked(stripes, Fraction(int(chunk * stripes.grid), stripes.grid))
