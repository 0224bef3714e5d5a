from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*layouts):
    """Run the benchmark of the simulator."""
    return subprocess.run(
        [sys.executable, "scripts/simulate_benchmark.py", *layouts],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_benchmark_prints_a_line_per_layout():
    """A ring of 8 nodes with 2 rails has 224 stripes; its lines have a number under every title."""
    has_numba = importlib.util.find_spec("numba") is not None
    answer = run("8x2")
    title, *lines = [line for line in answer.stdout.splitlines() if "not installed" not in line]
    assert [line.split()[:3] for line in lines] == [
        ["8x2", way, "224"] for way in (("numpy", "numba") if has_numba else ("numpy",))
    ]
    for line in lines:
        assert len(line.split()) == len(title.replace("peak MB", "peak").split()) - 1
    assert answer.returncode == 0


def test_benchmark_refuses_what_is_no_layout():
    """A mistake ends with status 1 and says how to write a layout."""
    answer = run("many")
    assert answer.returncode == 1
    assert "write nodes x rails" in answer.stderr
