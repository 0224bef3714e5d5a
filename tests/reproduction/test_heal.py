from __future__ import annotations

from dataclasses import replace

import pytest

from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.reproduction import heal
from scripts.reproduction.heal import Run, faults
from scripts.reproduction.setting import VICTIM
from tests.reproduction.jobs import HEALTHY_BYTES, SETTING, at, iteration, outcome, plan


def run(outage_s=2.0, *, time_s=1.0, carried=HEALTHY_BYTES, excluded=(), ended_s=1.0, **changes):
    """Make a job whose link was cut, and perhaps healed."""
    rows = [
        iteration(1, "healthy"),
        iteration(2, "cut"),
        *([] if outage_s is None else [iteration(3, "return", network_s=2.0)]),
        iteration(4, "afterwards", network_s=time_s, carried=carried),
    ]
    moments = {"cut": at(20.5)} if outage_s is None else {"cut": at(20.5), "heal": at(22.5)}
    plans = [plan("", "ring", excluded=()), plan("afterwards", "ring", excluded=excluded)]
    return Run(How.BLACK_HOLE, outage_s, outcome(rows, plans, (), moments, ended_s=ended_s, **changes))


def test_link_that_came_back():
    """It is used again from an iteration on, at its full rate, and the job ends promptly."""
    job = run()
    assert faults(job) == []
    assert (job.ratio, job.rail_share, job.readmitted_s) == pytest.approx((1.0, 1.0, 7.5))
    assert job.ending_s == pytest.approx(1.0)


def test_link_that_stays_dead():
    """It is left out, and that is as it must be."""
    job = run(None, time_s=1.5, carried=0, excluded=(VICTIM,))
    assert faults(job) == []
    assert (job.readmitted_s, job.rail_share) == (None, 0)


PLANTED = {
    "was not admitted again": lambda: run(excluded=(VICTIM,)),
    "bandwidth is not back: time 1.500": lambda: run(time_s=1.5),
    "bytes 0.667": lambda: run(carried=HEALTHY_BYTES // 3),
    "took 30.0 s to end": lambda: run(ended_s=30.0),
    "carried 100.0% of its share": lambda: run(None),
    "hung": lambda: run(status=None),
    "status 4": lambda: run(status=4),
}


@pytest.mark.parametrize("text", PLANTED)
def test_planted_faults(text):
    """Each thing that can go wrong is found, and fails the table."""
    job = PLANTED[text]()
    assert any(text in fault for fault in faults(job)), faults(job)
    assert not heal.report(SETTING, Mpi.MPICH, [run(), job]).ok


def test_wrong_elements():
    """They are found, too."""
    job = run()
    record = job.outcome.record
    rows = (replace(record.iterations[0], wrong=4), *record.iterations[1:])
    bad = replace(job, outcome=replace(job.outcome, record=replace(record, iterations=rows)))
    assert faults(bad) == ["black-hole, 2 s: iteration 1: 4 wrong elements"]


def test_table():
    """A row for each job, with the outage in words."""
    report = heal.report(SETTING, Mpi.OPEN_MPI, [run(), run(None, carried=0, excluded=(VICTIM,))])
    assert report.ok
    assert report.values("outage") == ["2 s", "never"]
    assert report.values("status") == ["0", "0"]
