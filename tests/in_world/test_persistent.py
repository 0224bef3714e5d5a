from __future__ import annotations

import time

import numpy as np
import pytest

from r2cc_mpi import (
    Communicator,
    FailStopError,
    PersistentRequest,
    Reduction,
    SignatureMismatchError,
    UsageError,
)
from tests.in_world.data import check_equal, contribution, total
from tests.in_world.failing import DEAD, kill_after, revive

pytestmark = pytest.mark.mpi

COUNT = 800_011


class Persistent:
    """A persistent sum with arrays of its own, checked element by element."""

    def __init__(self, comm, count=COUNT):
        self.comm, self.turn = comm, 0
        self.send, self.receive = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.request = comm.Allreduce_init(self.send, self.receive)

    def start(self):
        """Fill in new data and start."""
        self.turn += 1
        self.send[:] = contribution(self.comm.rank, len(self.send), "int64", self.turn)
        self.receive[:] = -1
        self.request.Start()

    def check(self):
        """Wait, and compare every element; return the strategy that was in force."""
        assert self.request.Wait()
        ranks = self.comm.size
        check_equal(self.receive, total(ranks, len(self.send), "int64", self.turn), f"turn {self.turn}")
        return self.request.report.strategy

    def replay(self):
        """Start, wait and check; return the strategy that was in force."""
        self.start()
        strategy = self.check()
        assert self.comm.last_report == self.request.report
        return strategy


def test_replays(world, rails):
    """A persistent request reduces what its arrays hold at each start, between other calls, and in place."""
    from mpi4py import MPI

    with Communicator(world, rails=rails) as comm:
        one = Persistent(comm)
        assert one.request.plan_report.strategy == "ring"
        assert one.request.plan_report.strategy_before is None
        array = np.empty(1009, np.float32)
        other = comm.Allreduce_init(MPI.IN_PLACE, array, op=MPI.MAX)
        for turn in range(3):
            assert one.replay() == "ring"
            array[:] = comm.rank + turn
            PersistentRequest.Startall([other])
            comm.Barrier()
            while not other.Test():
                time.sleep(1e-4)
            assert (array == comm.size - 1 + turn).all()
        empty = comm.Allreduce_init(np.empty(0), np.empty(0))
        empty.Start()
        assert empty.wait()


def test_several_active(world, usual_rails):
    """Several may be active at once; they complete in the order of their starts."""
    with Communicator(world, rails=usual_rails) as comm:
        several = [Persistent(comm, count) for count in (5, COUNT, 2 * COUNT)]
        for one in several:
            one.start()
        for one in reversed(several):
            one.check()
        numbers = [one.request.report.number for one in several]
        assert numbers == sorted(numbers)


def test_what_an_inactive_request_does(world, usual_rails):
    """Wait and Test return at once, before the first start and after each completion; Free ends it."""
    with Communicator(world, rails=usual_rails) as comm:
        one = Persistent(comm)
        request = one.request
        assert request.Wait()
        assert request.Test()
        assert request.report is None
        one.start()
        for forbidden in (request.Start, request.Free, request.replan):
            with pytest.raises(UsageError, match="active; Wait for it first"):
                forbidden()
        one.check()
        assert request.test()
        request.Free()
        for forbidden in (request.Start, request.Free, request.replan):
            with pytest.raises(UsageError, match="freed; make a new one by Allreduce_init"):
                forbidden()
        assert request.Wait()


def test_closing_completes_it(world, usual_rails):
    """Closing has an active request done first; it cannot be started any more afterwards."""
    comm = Communicator(world, rails=usual_rails)
    one = Persistent(comm)
    one.start()
    comm.close()
    one.check()
    for forbidden in (one.request.Start, one.request.replan):
        with pytest.raises(UsageError, match="communicator is closed"):
            forbidden()


def test_ranks_without_data(world, sparse):
    """Ranks that own no rail take part, and those that bring no data replay with None."""
    ranks, rails = sparse
    contributes = world.rank % ranks != 0
    with Communicator(world, rails=rails, ranks_per_node=ranks, contribute=contributes) as comm:
        bringers = [rank for rank in range(world.size) if rank % ranks]
        send, receive = (np.zeros(1009, np.float64) for _ in range(2))
        arrays = [send, receive] if contributes else [None, None]
        request = comm.Allreduce_init(arrays[0], arrays[1], op=Reduction.AVG)
        for turn in range(3):
            send[:] = contribution(world.rank, len(send), "float64", turn)
            request.Start()
            request.Wait()
            if contributes:
                expected = sum(contribution(rank, len(send), "float64", turn) for rank in bringers)
                check_equal(receive, expected / len(bringers))
            request.replan("balance")


@pytest.mark.parametrize("different", ["count", "plan", "pieces", "form"])
def test_mismatches(world, usual_rails, different):
    """A rank that asks for something else than the others is named on all ranks."""
    if world.size == 1:
        pytest.skip("a single rank agrees with itself")
    odd = world.rank == 1
    comm = Communicator(world, rails=usual_rails)
    one, other = Persistent(comm), Persistent(comm)
    world.Barrier()  # who is not through yet would hear of the mismatch there

    def call():
        if different == "count":
            Persistent(comm, 10 + odd)
        elif different == "plan":
            (one if odd else other).replay()
        elif different == "pieces":
            one.request.replan("optcc", pieces=2 + odd)
        else:
            one.request.replan("optcc", form="overlay" if odd else None)

    field = "elements" if different == "count" else different
    with pytest.raises(SignatureMismatchError, match=f"{field} .* instead of"):
        call()
    comm.close()


def test_a_call_is_not_a_replay(world, usual_rails):
    """A rank that reduces the very same array without the plan is told so, as are all others."""
    if world.size == 1:
        pytest.skip("a single rank agrees with itself")
    comm = Communicator(world, rails=usual_rails)
    one = Persistent(comm)
    world.Barrier()  # who is not through yet would hear of the mismatch there
    call = one.replay if comm.rank != 1 else lambda: comm.Allreduce(one.send, one.receive)
    with pytest.raises(SignatureMismatchError, match=r"rank \d .*plan \d instead of \d"):
        call()
    comm.close()


@pytest.mark.parametrize("when", ["between", "in mid-flight"])
def test_a_failure_is_repaired_in_every_replay(world, spare_rails, when):
    """The plan from before a failure goes on under HotRepair until there is another, also when it heals."""
    with Communicator(world, rails=spare_rails) as comm:
        one = Persistent(comm)
        assert one.replay() == "ring"
        world.Barrier()  # for a rank that is not through yet it would be a death in mid-flight
        kill_after(comm, DEAD, 0 if when == "between" else 1)
        if when == "between":
            while comm.health[DEAD].is_up:
                time.sleep(1e-3)
            world.Barrier()
        assert not one.request.is_outdated
        assert [one.replay() for _ in range(3)] == ["hot-repair"] * 3
        assert one.request.is_outdated
        receive = np.empty_like(one.receive)
        comm.Allreduce(one.send, receive)
        assert "hot-repair" not in str(comm.last_report)  # others plan around it meanwhile
        report = one.request.replan("balance")
        assert (report.strategy_before, report.strategy) == ("hot-repair", "balance")
        assert not one.request.is_outdated
        assert report.excluded == (DEAD,)
        assert [one.replay() for _ in range(2)] == ["balance"] * 2
        revive(comm, DEAD)
        comm.settle()
        sent = comm.counters.sent_bytes
        assert one.replay() == "balance"
        if comm.nic == DEAD:
            assert comm.counters.sent_bytes == sent  # back, and not used before it is planned for
        assert one.request.is_outdated
        assert one.request.replan().strategy_before == "balance"
        assert one.replay() == "ring"


def test_replanning_around_a_dead_nic(world, spare_rails):
    """Every strategy can be planned, with its pieces and form, and gives every element."""
    nodes = world.size // spare_rails
    with Communicator(world, rails=spare_rails, rail_rate=200e6) as comm:
        one = Persistent(comm)
        assert one.request.plan_report.predicted_s > 0
        kill_after(comm, DEAD, 1)
        assert one.replay() == "hot-repair"
        before = one.request.plan_report
        for strategy, pieces, form in (
            ("balance", None, None),
            ("r2cc-allreduce", 3, "chain"),
            ("r2cc-allreduce", 2, "helper"),
            ("optcc", 4, None),
        ):
            report = one.request.replan(strategy, pieces, form)
            assert report.strategy_before == before.strategy.replace("ring", "hot-repair")
            assert report.agreed_s >= report.planning_s > 0
            if nodes > 2:
                assert (report.strategy, report.pieces) == (strategy, pieces)
            assert one.replay() == report.strategy
            assert report.predicted_s <= report.predicted_before_s or strategy != "balance"
            before = report


def test_a_failure_while_planning_is_planned_alike(world, spare_rails):
    """All ranks get the same plan when a NIC dies while they agree on it, wherever the news is just then."""
    with Communicator(world, rails=spare_rails) as comm:
        comm.Barrier()
        kill_after(comm, DEAD, 1)
        one = Persistent(comm)
        plans = world.allgather((one.request.plan_report.strategy, one.request.plan_report.excluded))
        assert len(set(plans)) == 1
        for _ in range(3):
            strategy = one.replay()
        assert strategy == ("hot-repair" if plans[0][0] == "ring" else plans[0][0])


def test_a_ring_that_was_asked_for_stops(world, spare_rails):
    """A persistent ring is fail-stop, as ring is everywhere, also where the communicator would repair."""
    comm = Communicator(world, rails=spare_rails)
    one = Persistent(comm)
    one.request.replan("ring")
    kill_after(comm, DEAD, 1)
    with pytest.raises(FailStopError, match="node 1 rail 1 failed"):
        one.replay()
    assert one.request.Wait()  # the error was told
    comm.close()
