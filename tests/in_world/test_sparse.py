from __future__ import annotations

import time

import numpy as np
import pytest

from algorithms.nic import Nic
from r2cc_mpi import Communicator, IsolatedError, SignatureMismatchError, UsageError
from r2cc_mpi.reduction import Reduction
from tests.in_world.data import check_equal, contribution, total
from tests.in_world.failing import DEAD, kill_after

pytestmark = pytest.mark.mpi

COUNTS = [0, 1, 7, 1009, 300_007]


def sparse_communicator(world, sparse, **how):
    """Make a communicator whose nodes have more ranks than rails."""
    return Communicator(world, ranks_per_node=sparse[0], rails=sparse[1], **how)


def reduce_and_check(comm, count=300_007, turn=0):
    """Carry out one collective in which every element is compared."""
    receive = np.full(count, -1, np.int64)
    comm.Allreduce(contribution(comm.rank, count, "int64", turn), receive)
    check_equal(receive, total(comm.size, count, "int64", turn), f"{count} elements, turn {turn}")


def test_ranks_without_a_rail(world, sparse):
    """Ranks that own no rail bring data and take results as the others do, and no NIC of theirs is listed."""
    ranks, rails = sparse
    with sparse_communicator(world, sparse) as comm:
        nodes = world.size // ranks
        assert (comm.layout.nodes, comm.layout.rails, comm.size) == (nodes, rails, world.size)
        assert (comm.nic in comm.layout) == (world.rank % ranks < rails)
        assert list(comm.health) == [Nic(node, rail) for node in range(nodes) for rail in range(rails)]
        assert all(known.is_up for known in comm.health.values())
        for turn, count in enumerate(COUNTS):
            reduce_and_check(comm, count, turn)
        comm.settle()
        report = comm.last_report
        assert (report.strategy, report.excluded, comm.detections) == ("ring", (), ())
        assert set(report.health_versions.values()) == {0}
        if comm.nic not in comm.layout:
            assert comm.counters.sent_chunks == comm.counters.sent_controls == 0


def test_fail_stop_is_about_real_rails(world, sparse):
    """Under strategy ring a rail that never was is no failure."""
    with sparse_communicator(world, sparse, strategy="ring") as comm:
        reduce_and_check(comm)


def test_requests_and_parts(world, sparse):
    """Requests and parts are there for ranks without a rail as for the others."""
    from mpi4py import MPI

    ranks, rails = sparse
    with sparse_communicator(world, sparse) as comm:
        array = contribution(comm.rank, 1009, "int64")
        comm.Iallreduce(MPI.IN_PLACE, array).Wait()
        check_equal(array, total(comm.size, 1009, "int64"))
        with comm.Split(comm.nic.node) as part:
            assert (part.layout.rails, part.layout.ranks_per_node, part.size) == (rails, ranks, ranks)
            reduce_and_check(part)
        with pytest.raises(UsageError, match="color 1: the first ranks of each node must own its rails"):
            comm.Split(int(comm.nic not in comm.layout))


def test_mismatch_is_raised_on_every_rank(world, sparse):
    """A rank without a rail that asks for something else is named, and all are told."""
    odd = sparse[1]
    with sparse_communicator(world, sparse) as comm:
        array = np.ones(100 + (comm.rank == odd), np.float32)
        with pytest.raises(SignatureMismatchError, match=rf"rank {odd} \(node 0, owns no rail\) called with"):
            comm.Allreduce(array, np.empty_like(array))


def test_a_rail_dies(world, sparse):
    """A rail dies in a collective, and the ranks without one get their results all the same."""
    if sparse[1] < 2 or world.size == sparse[0]:
        pytest.skip("no other rail, or no other node")
    with sparse_communicator(world, sparse) as comm:
        kill_after(comm, DEAD, 1)
        for turn in range(3):
            reduce_and_check(comm, turn=turn)
        assert [nic for nic, known in comm.health.items() if not known.is_up] == [DEAD]
        assert comm.last_report.excluded == (DEAD,)


def test_cut_is_raised_on_every_rank(world, sparse):
    """When a node loses all its rails, its ranks without one learn it too."""
    if world.size == sparse[0]:
        pytest.skip("there is no other node")
    comm = sparse_communicator(world, sparse, isolation_timeout=1.0)
    for rail in range(sparse[1]):
        kill_after(comm, Nic(1, rail), 1)
    array = contribution(comm.rank, 1_600_011, "int64")
    with pytest.raises(IsolatedError, match=r"no longer connect .*node(s [\d, ]*)? ?1"):
        comm.Allreduce(array, np.empty_like(array))
    comm.close()


@pytest.mark.parametrize("idle", ["first", "last"])
def test_ranks_without_data(world, usual_rails, idle):
    """Ranks that are there for their rail alone neither add anything nor wait to be asked."""
    if usual_rails == 1:
        with pytest.raises(UsageError, match="no rank of node 0 contributes"):
            Communicator(world, rails=1, contribute=False)
        return
    mine = Nic(*divmod(world.rank, usual_rails))
    is_idle = mine.rail == (0 if idle == "first" else usual_rails - 1) and (mine.node == 0 or idle == "last")
    bringing = [rank for rank, idles in enumerate(world.allgather(is_idle)) if not idles]
    with Communicator(world, rails=usual_rails, contribute=not is_idle) as comm:
        for turn, count in enumerate(COUNTS):
            expected = sum(contribution(rank, count, "float64", turn) for rank in bringing)
            if is_idle:
                comm.Allreduce(None, None)
                comm.Iallreduce(None, None, op=Reduction.AVG).Wait()
            else:
                receive = np.full(count, -1.0)
                comm.Allreduce(contribution(comm.rank, count, "float64", turn), receive)
                check_equal(receive, expected, f"{count} elements")
                comm.Allreduce(contribution(comm.rank, count, "float64", turn), receive, op=Reduction.AVG)
                check_equal(receive, expected / len(bringing), f"mean of {count} elements")
        comm.Barrier()
        with comm.Dup() as copy:
            copy.Barrier()
        if is_idle:
            with pytest.raises(UsageError, match="created with contribute=False"):
                comm.Allreduce(np.zeros(3), np.zeros(3))
        else:
            with pytest.raises(UsageError, match="recvbuf is a NoneType"):
                comm.Allreduce(None, None)


def test_ranks_without_data_are_waited_for(world, usual_rails):
    """Nobody's collective completes before a rank without data has made the call too."""
    if usual_rails == 1:
        pytest.skip("every node needs a rank with data")
    is_idle = world.rank == world.size - usual_rails  # whose rail the one element does not use
    with Communicator(world, rails=usual_rails, contribute=not is_idle) as comm:
        comm.Barrier()  # shared memory grows, for which all have to come
        if is_idle:
            world.Barrier()
            comm.Allreduce(None, None)
            return
        result = np.zeros(1)
        request = comm.Iallreduce(np.ones(1), result)
        time.sleep(0.1)
        assert not request.Test()
        world.Barrier()
        request.Wait()
        assert result[0] == world.size - 1


def test_rank_without_data_that_calls_something_else(world, usual_rails):
    """A rank without data that makes another call is told so, with all others."""
    if usual_rails == 1:
        pytest.skip("every node needs a rank with data")
    is_idle = world.rank == 1
    with Communicator(world, rails=usual_rails, contribute=not is_idle) as comm:
        call = comm.Barrier if is_idle else lambda: comm.Allreduce(np.ones(100), np.empty(100))
        with pytest.raises(SignatureMismatchError, match=r"rank \d .* called with collective"):
            call()
