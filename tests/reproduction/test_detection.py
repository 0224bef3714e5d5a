from __future__ import annotations

from dataclasses import replace

import pytest

from algorithms.nic import Nic
from scripts.network.job import Mpi
from scripts.network.links import How
from scripts.reproduction import detection
from scripts.reproduction.detection import HEALTHY, Cut, draw, hits
from tests.reproduction.jobs import SETTING, at, iteration, learned, outcome

CUTS = [Cut(Nic(1, 1), 0.4), Cut(Nic(2, 0), 0.2)]


def job(latency_s=0.004, network_s=1.5):
    """Make a job of two cuts, in iterations 1 and 3, known after so long by the first rank."""
    rows = [iteration(0, HEALTHY), *(iteration(number, "", network_s=network_s) for number in range(1, 5))]
    known = [*learned(10.5 + latency_s, CUTS[0].nic), *learned(30.2 + latency_s, CUTS[1].nic)]
    moments = {"cut 0": at(10.5), "heal 0": at(20), "cut 1": at(30.2), "heal 1": at(40)}
    return outcome(rows, (), known, moments)


def test_latencies():
    """A cut is known at both ends when the last rank of its rail knows; its own rank is told apart."""
    found, amiss = hits(SETTING, CUTS, job())
    assert amiss == []
    assert [one.both_s for one in found] == pytest.approx([0.0061, 0.0061])
    assert [one.own_s for one in found] == pytest.approx([0.0051, 0.0061])
    assert [one.time_s for one in found] == [1.5, 1.5]
    report = detection.report(SETTING, CUTS, Mpi.MPICH, How.LINK_DOWN, job())
    assert report.ok
    assert report.fact("median_s") == pytest.approx(0.0061)
    assert not any("missed" in note for note in report.notes)


def test_missed_aims_are_told():
    """Detection after 60 ms is too late for an event, not for a black hole; a slow iteration is told too."""
    late = job(latency_s=0.06)
    assert "known too late" in detection.report(SETTING, CUTS, Mpi.MPICH, How.PORT_DOWN, late).notes[0]
    assert len(detection.report(SETTING, CUTS, Mpi.MPICH, How.BLACK_HOLE, late).notes) == 1
    later = detection.report(SETTING, CUTS, Mpi.MPICH, How.BLACK_HOLE, job(latency_s=0.97))
    assert later.fact("limit_s") == pytest.approx(0.96)
    assert "known too late" in later.notes[0]
    slow = detection.report(SETTING, CUTS, Mpi.MPICH, How.PORT_DOWN, job(network_s=9.0))
    assert slow.notes[0] == "aim missed: 2 iterations took longer than allowed"


def test_planted_faults():
    """A rank that never knew, a NIC wrongly blamed, a cut between iterations, one without a turn, a hang."""
    done = job()
    record = done.record
    unaware = replace(record, learned=record.learned[1:])
    assert "unaware ['node 0 rail 1']" in hits(SETTING, CUTS, replace(done, record=unaware))[1][0]
    blamed = replace(record, learned=(*record.learned, *learned(10.9, Nic(0, 1))))
    assert "wrongly blamed ['node 0 rail 1']" in hits(SETTING, CUTS, replace(done, record=blamed))[1][0]
    between = replace(done, moments={**done.moments, "cut 0": at(9.0)})
    assert hits(SETTING, CUTS, between)[1] == ["cut 0 (node 1 rail 1) fell between two iterations"]
    without = {name: one for name, one in done.moments.items() if name != "cut 1"}
    assert "had no turn" in hits(SETTING, CUTS, replace(done, moments=without))[1][0]
    assert "hung" in hits(SETTING, CUTS, replace(done, status=None))[1][0]
    assert not detection.report(SETTING, CUTS, Mpi.MPICH, How.PORT_DOWN, replace(done, status=4)).ok


def test_draws():
    """Cuts follow from the seed, go around all NICs, and come at instants of their own."""
    drawn = draw(SETTING, 20, seed=1)
    assert drawn == draw(SETTING, 20, seed=1)
    assert len({cut.nic for cut in drawn[:9]}) == 9
    assert len({cut.at for cut in drawn}) == 20
    assert all(0 < cut.at < 2 / 3 for cut in drawn)
