from __future__ import annotations

import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from scripts.simulate_check import ROWS, Outcome, play, report

ROOT = Path(__file__).resolve().parents[2]
OUTCOME = Outcome(measured=1.02, simulated=1.0, queueing=None, formula=0.9)


@pytest.mark.parametrize(("measured", "status"), [(1.02, 0), (1.04, 1), (0.96, 1)])
def test_run_beyond_the_limit_is_named(measured, status, capsys):
    """Longer or shorter than the simulation by more than 3 %: status 1, and the row is named."""
    rows = [(ROWS[0], OUTCOME), (ROWS[1], replace(OUTCOME, measured=measured))]
    assert report(rows, limit=0.03) == status
    *_, last = capsys.readouterr().out.splitlines()
    assert (ROWS[1].label in last) == bool(status)
    assert ROWS[0].label not in last


def test_every_row_can_be_simulated():
    """Each takes at least the time of the healthy ring; ports that queue change it by some per cent."""
    for row in ROWS:
        simulated, queueing = play(row)
        assert simulated >= Fraction(2 * (row.nodes - 1), row.nodes)
        assert queueing is None or abs(queueing / simulated - 1) < 0.1


@pytest.mark.slow
def test_ring_takes_what_the_simulator_says():
    """Two nodes of two paced rails, on this machine: within 3 %."""
    command = [str(ROOT / "scripts/simulate-check"), "--only", "2x2 ring"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# beyond 3% of the simulation: none" in done.stdout
