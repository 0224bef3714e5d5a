from __future__ import annotations

import pytest

from r2cc_mpi.layout import Layout
from tests.campaigns import memory
from tests.campaigns.memory import GROWTH_BYTES, RankMemory, complaint, main, measure

MIB = 1 << 20
TWO_BY_TWO = Layout(2, 2)
CALLS = 200


@pytest.mark.parametrize(
    ("size", "worst", "said"),
    [
        (64 * MIB, RankMemory(192 * MIB, 999 * MIB, 0, 0), None),
        (64 * MIB, RankMemory(193 * MIB, 0, 0, 0), "193.0 MiB besides the arrays, allowed are 192"),
        (0, RankMemory(0, 0, GROWTH_BYTES, 0), None),
        (0, RankMemory(0, 0, GROWTH_BYTES, MIB), "calls of mixed sizes have added 3.0 MiB"),
    ],
)
def test_bounds(size, worst, said):
    """The worst rank counts: 2 D and 64 MiB besides the arrays, and hardly anything after many calls."""
    assert complaint(size, [RankMemory(0, 0, 0, 0), worst]) == said


def test_sample_on_real_ranks():
    """A large array takes less than allowed; calls add nothing; what each of them kept would be seen."""
    size = 32 * MIB
    found = measure(TWO_BY_TWO, size, CALLS)
    assert complaint(size, found) is None
    # A node's buffer has the size of the array, and its two ranks share it.
    assert min(one.fair for one in found) > size / 2
    leaking = measure(TWO_BY_TWO, 0, CALLS, leak=16 << 10)
    assert "calls of mixed sizes have added" in (complaint(0, leaking) or "")


def test_missed_bound_fails(monkeypatch, capsys):
    """The script says which bound was missed, with status 1."""
    monkeypatch.setattr(memory, "measure", lambda *_: [RankMemory(200 * MIB, 300 * MIB, 0, 0)])
    assert main(["--size", "64M", "--calls", "0"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[0] == (
        "2x2 D = 64M: 200.0 MiB with a fair share of what is shared, 300.0 MiB of resident memory"
    )
    assert "FAILED: 200.0 MiB besides the arrays, allowed are 192" in out
    assert main(["--size", "256M", "--calls", "0"]) == 0


def test_job_that_fails_is_no_result(monkeypatch):
    """A job that did not come to its end has measured nothing."""
    monkeypatch.setattr(memory, "PROGRAM", ("-c", "raise SystemExit('no')"))
    with pytest.raises(RuntimeError, match="status 1: no"):
        measure(TWO_BY_TWO, MIB, 0)
