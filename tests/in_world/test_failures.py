from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress

import numpy as np
import pytest

from algorithms.nic import Nic
from r2cc_mpi import Communicator, FailStopError, IsolatedError
from r2cc_mpi.protocol.news import Closing
from tests.in_world.data import check_equal, contribution, total
from tests.in_world.failing import DEAD, kill_after

pytestmark = pytest.mark.mpi

COUNT = 1_600_011


def reduce_and_check(comm, world, turn=0):
    """Carry out one collective in which every element is compared."""
    receive = np.full(COUNT, -1, np.int64)
    comm.Allreduce(contribution(world.rank, COUNT, "int64", turn), receive)
    check_equal(receive, total(world.size, COUNT, "int64", turn), f"turn {turn}")


def failed_nics(comm):
    """List the NICs that this rank ever took for failed."""
    return {change.nic for change in comm.detections if change.version % 2}


def strategy_of(comm):
    """Give the strategy of the last call."""
    return comm.last_report.strategy


def check_blamed(comm):
    """Make sure that a silent failure was found: with a third node the right end, with two either or both.

    Raises:
        AssertionError: Nothing or something else was blamed.
    """
    blamed = failed_nics(comm)
    assert blamed
    assert blamed <= ({DEAD} if comm.layout.nodes > 2 else {Nic(0, 1), DEAD})


def test_failure_declared_from_the_start(world, spare_rails):
    """With a NIC declared failed all ranks plan around it: right results, nothing repaired, no byte sent."""
    with Communicator(world, rails=spare_rails, strategy="hot-repair", failed=[DEAD]) as comm:
        for turn in range(2):
            reduce_and_check(comm, world, turn)
        assert strategy_of(comm) == "hot-repair"
        health = comm.health
        assert [nic for nic, known in health.items() if not known.is_up] == [DEAD]
        assert health[DEAD].cause == "declared"
        assert comm.failovers == ()
        if comm.nic == DEAD:
            assert (comm.counters.sent_bytes, comm.counters.received_bytes) == (0, 0)


@pytest.mark.parametrize("late", [False, True], ids=["lossy", "late"])
def test_rail_dies_in_a_collective(world, spare_rails, late):
    """A rail that dies in the middle and says so costs no element, and every rank knows which one and how."""
    with Communicator(world, rails=spare_rails, strategy="hot-repair") as comm:
        reduce_and_check(comm, world)
        kill_after(comm, DEAD, 2, late=late)
        for turn in range(1, 4):
            reduce_and_check(comm, world, turn)
        comm.Barrier()
        assert failed_nics(comm) == {DEAD}
        assert comm.health[DEAD].cause == ("event" if comm.nic == DEAD else "news")
        assert strategy_of(comm) == "hot-repair"
        repaired = {failover.nic for failover in comm.failovers}
        assert repaired <= {DEAD}
        if comm.nic == DEAD:
            assert repaired == {DEAD}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_repair_changes_no_bit(world, spare_rails, dtype):
    """Sums of random floats have the same bits on every rank, and with a repair in flight as without one.

    Sums in other orders have others, so a change of order would be seen.
    """
    mine = np.random.default_rng(world.rank).standard_normal(COUNT).astype(dtype)
    arrays = world.allgather(mine)
    results = []
    for fails in (False, True):
        with Communicator(world, rails=spare_rails) as comm:
            if fails:
                kill_after(comm, DEAD, 2)
            receive = np.empty_like(mine)
            comm.Allreduce(mine, receive)
            results += world.allgather(receive.tobytes())
            repaired = world.allreduce(len(comm.failovers))
            assert (repaired > 0) == fails
    assert len(set(results)) == 1
    if world.size > 2:  # else there is only one order in which to add
        for order in (arrays, arrays[::-1]):
            assert sum(order).tobytes() != results[0]


def test_rail_dies_silently(world, spare_rails):
    """A black hole is found by probing, and nothing but that rail is blamed."""
    with Communicator(world, rails=spare_rails) as comm:
        reduce_and_check(comm, world)
        kill_after(comm, DEAD, 2, silent=True)
        for turn in range(1, 3):
            reduce_and_check(comm, world, turn)
        check_blamed(comm)


def test_every_rail_but_one_dies(world, spare_rails):
    """A node loses its rails one after the other down to the last one, in consecutive collectives."""
    with Communicator(world, rails=spare_rails) as comm:
        for turn, rail in enumerate(range(spare_rails - 1)):
            kill_after(comm, Nic(1, rail), 1)
            reduce_and_check(comm, world, turn)
        reduce_and_check(comm, world, 9)
        comm.Barrier()
        assert failed_nics(comm) == {Nic(1, rail) for rail in range(spare_rails - 1)}


def test_cut_leaves_arrays_alone(world, spare_rails):
    """When a node loses all its rails every rank raises, names it, and has its array as it was."""
    from mpi4py import MPI

    comm = Communicator(world, rails=spare_rails, isolation_timeout=1.0)
    reduce_and_check(comm, world)
    for rail in range(spare_rails):
        kill_after(comm, Nic(1, rail), 1)
    array = contribution(world.rank, COUNT, "int64", 3)
    with pytest.raises(IsolatedError, match=r"no longer connect .*node(s [\d, ]*)? ?1"):
        comm.Allreduce(MPI.IN_PLACE, array)
    check_equal(array, contribution(world.rank, COUNT, "int64", 3), "the user's array")
    with pytest.raises(IsolatedError):
        comm.Barrier()
    comm.close()
    with Communicator(world, rails=spare_rails) as comm:
        reduce_and_check(comm, world)


def test_cut_while_closing(world, spare_rails):
    """A node that is cut off when it has just said that it is done keeps nobody waiting for ever.

    Ranks that know that all are done close in peace, the others raise after the isolation timeout.
    """
    comm = Communicator(world, rails=spare_rails, isolation_timeout=1.0)
    reduce_and_check(comm, world)
    comm.settle()

    def die_once_done(now):
        if not comm.rail.is_dead and comm._engine.news.closing[world.rank] >= Closing.DONE:
            comm.rail.die(late=False)
            comm.rail_event(up=False, now=now)

    if comm.nic.node == 1:
        comm.add_hook(die_once_done)
    with suppress(IsolatedError):
        comm.close()
    assert not comm.is_open


def test_ring_raises_when_a_rail_dies(world, spare_rails):
    """Strategy ring does not repair: every rank raises, names the NIC, and has its array as it was."""
    with Communicator(world, rails=spare_rails, strategy="ring") as comm:
        reduce_and_check(comm, world)
        kill_after(comm, DEAD, 1)
        receive = np.full(COUNT, -1, np.int64)
        with pytest.raises(FailStopError, match="node 1 rail 1 failed and strategy ring does not repair"):
            comm.Allreduce(contribution(world.rank, COUNT, "int64"), receive)
        assert (receive == -1).all()


def test_two_communicators_fail_each_for_itself(world, spare_rails):
    """A rail that dies in one communicator is none of the other's business."""
    with Communicator(world, rails=spare_rails) as first, Communicator(world, rails=spare_rails) as second:
        kill_after(first, DEAD, 1)
        for turn in range(3):
            reduce_and_check(first, world, turn)
            reduce_and_check(second, world, turn)
        assert failed_nics(first) == {DEAD}
        assert failed_nics(second) == set()


@pytest.mark.parametrize(("how", "silent"), [("sleeps", True), ("is stopped", False)])
def test_late_rank_is_not_taken_for_a_dead_rail(world, spare_rails, how, silent):
    """A rank that comes late, longer than the stall time, is waited for, while another node's rail dies."""
    with Communicator(world, rails=spare_rails) as comm:
        assert comm.settings.stall_s < 1.5
        reduce_and_check(comm, world)
        world.Barrier()
        kill_after(comm, DEAD, 1, silent=silent)
        if world.rank == 0 and how == "sleeps":
            time.sleep(1.5)
        elif world.rank == 0:
            with subprocess.Popen(["/bin/sh", "-c", f"sleep 1.5; kill -CONT {os.getpid()}"]):
                os.kill(os.getpid(), signal.SIGSTOP)
        for turn in range(1, 3):
            reduce_and_check(comm, world, turn)
        if silent:
            check_blamed(comm)
        else:
            assert failed_nics(comm) == {DEAD}
