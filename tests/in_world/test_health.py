from __future__ import annotations

import threading

import numpy as np
import pytest

from r2cc_mpi import Communicator
from tests.in_world.data import contribution, total
from tests.in_world.failing import DEAD, kill_after, revive

pytestmark = pytest.mark.mpi

COUNT = 800_011


def test_each_change_is_told_once(world, usual_spare_rails):
    """A function hears of a death and of the return once each, on a thread of its own, under no lock."""
    told: list[tuple[object, ...]] = []

    def tell(nic, health):
        assert threading.current_thread() is not threading.main_thread()
        assert comm.health[nic].nic == nic
        with comm._driver.held():  # not under the lock, which is taken once only
            told.append((nic, health.is_up, health.cause))

    with Communicator(world, rails=usual_spare_rails) as comm:
        comm.add_health_callback(tell)
        kill_after(comm, DEAD, 1)
        array = contribution(comm.rank, COUNT, "int64")
        receive = np.empty_like(array)
        comm.Allreduce(array, receive)
        comm.Barrier()
        comm.Barrier()
        revive(comm, DEAD)
        np.testing.assert_array_equal(receive, total(comm.size, COUNT, "int64"))
    own = comm.nic == DEAD
    assert told == [(DEAD, False, "event" if own else "news"), (DEAD, True, "echo" if own else "news")]


def test_what_was_before_is_not_told(world, usual_spare_rails):
    """A function hears of changes from its registration on; what was before is in the health."""
    told = []
    with Communicator(world, rails=usual_spare_rails, failed=[DEAD]) as comm:
        comm.add_health_callback(lambda nic, health: told.append((nic, health)))
        comm.Barrier()
        assert not comm.health[DEAD].is_up
    assert told == []


def test_report_of_a_repair(world, usual_spare_rails):
    """The report tells what was repaired and sent again, and the health under which all ranks planned."""
    with Communicator(world, rails=usual_spare_rails, rail_rate=20e6) as comm:  # so that chunks wait to leave
        kill_after(comm, DEAD, 1)
        array = contribution(comm.rank, COUNT, "int64")
        reports = []
        for _ in range(2):
            comm.Allreduce(array, np.empty_like(array))
            report = comm.last_report
            assert report is not None
            reports.append(report)
        resent = sum(channel.resent_bytes for channel in comm._engine.senders.values())
        assert sum(report.resent_bytes for report in reports) <= resent
        if comm.nic == DEAD:
            assert sum(report.resent_bytes for report in reports) > 0
            assert next(one.nic for report in reports for one in report.failovers) == DEAD
        assert list(reports[0].health_versions) == list(comm.layout)
        comm.Barrier()
        comm.Barrier()
        report = comm.last_report
        assert report is not None
        assert [nic for nic, version in report.health_versions.items() if version % 2] == [DEAD]
        assert (report.resent_bytes, report.failovers) == (0, ())
