from __future__ import annotations

import time

import numpy as np
import pytest

from r2cc_mpi import Communicator, IncompleteCollectiveError, IsolatedError, Request, SignatureMismatchError
from tests.in_world.data import DTYPES, check_equal, contribution, total
from tests.in_world.failing import DEAD, kill_after

pytestmark = pytest.mark.mpi

COUNT = 800_011


def start(comm, turn, count=COUNT, dtype="int64"):
    """Start a collective in place; return its request with its array."""
    from mpi4py import MPI

    array = contribution(comm.rank, count, dtype, turn)
    return comm.Iallreduce(MPI.IN_PLACE, array), array


def check(comm, array, turn):
    """Make sure that an array holds the sum."""
    check_equal(array, total(comm.size, len(array), array.dtype, turn), f"turn {turn}")


def test_several_outstanding(world, usual_rails):
    """Requests of any size and type complete in their order, in whatever order they are waited for."""
    with Communicator(world, rails=usual_rails) as comm:
        counts = [5, COUNT, 0, 2 * COUNT, 1000]
        started = [start(comm, turn, count, DTYPES[turn % len(DTYPES)]) for turn, count in enumerate(counts)]
        assert started[-1][0].Wait()
        numbers = []
        for turn, (request, array) in enumerate(started):
            assert request.Test()
            check(comm, array, turn)
            numbers.append(request.report.number)
        assert numbers == [1, 2, 3, 4, 5]
        assert comm.last_report == started[-1][0].report
        assert Request.Waitall([request for request, _ in started])


def test_it_gets_on_by_itself(world, usual_rails):
    """A request completes while its rank makes no call at all."""
    with Communicator(world, rails=usual_rails) as comm:
        request, array = start(comm, 0)
        while request.report is None:
            time.sleep(1e-3)
        check(comm, array, 0)
        assert request.wait()


def test_blocking_calls_wait_for_earlier_requests(world, usual_rails):
    """A call that waits completes the requests before it, too."""
    with Communicator(world, rails=usual_rails) as comm:
        for turn in range(6):
            request, array = start(comm, turn)
            if turn % 2 == 0:
                comm.Barrier()
                assert request.test()
            else:
                receive = np.empty(COUNT, np.int64)
                comm.Allreduce(contribution(comm.rank, COUNT, "int64", 99), receive)
                check(comm, receive, 99)
            check(comm, array, turn)
            if comm.rank == 0:
                request.Wait()


def test_one_rank_waits_where_another_does_not(world, usual_rails):
    """Blocking and non-blocking calls of different ranks make one collective."""
    with Communicator(world, rails=usual_rails) as comm:
        receive = np.empty(1009, np.int32)
        send = contribution(comm.rank, 1009, "int32")
        if comm.rank == 0:
            comm.Allreduce(send, receive)
        else:
            comm.Iallreduce(send, receive).Wait()
        check(comm, receive, 0)


def test_not_done_before_everybody_came(world, usual_rails):
    """A request is not done, and its array not written, before the last rank has made the call."""
    if world.size == 1:
        pytest.skip("a single rank waits for nobody")
    with Communicator(world, rails=usual_rails) as comm:
        last = comm.rank == comm.size - 1
        if not last:
            request, array = start(comm, 0)
            for _ in range(20):
                assert not request.Test()
            check_equal(array, contribution(comm.rank, COUNT, "int64", 0), "too early")
        world.Barrier()
        if last:
            request, array = start(comm, 0)
        request.Wait()
        check(comm, array, 0)


def test_close_completes_what_is_outstanding(world, usual_rails):
    """Closing has outstanding requests done first; they can be asked afterwards."""
    comm = Communicator(world, rails=usual_rails)
    started = [start(comm, turn) for turn in range(3)]
    comm.close()
    for turn, (request, array) in enumerate(started):
        assert request.Test()
        assert request.Wait()
        check(comm, array, turn)


def test_mismatch_comes_out_where_the_request_is_waited_for(world, usual_rails):
    """A mismatch is raised by Wait and Test, of this request and of the next, and leaves the arrays alone."""
    if world.size == 1:
        pytest.skip("a single rank agrees with itself")
    with Communicator(world, rails=usual_rails) as comm:
        request, array = start(comm, 0, 1000 + (comm.rank == 1))
        following, other = start(comm, 1)
        with pytest.raises(SignatureMismatchError, match=r"collective 1: rank \d .* instead of"):
            request.Wait()
        with pytest.raises(SignatureMismatchError, match="collective 1"):
            following.Wait()
        with pytest.raises(SignatureMismatchError, match="collective 1"):
            request.Test()
        check_equal(array, contribution(comm.rank, len(array), "int64", 0), "array of the request")
        check_equal(other, contribution(comm.rank, COUNT, "int64", 1), "array of the next")


def test_close_says_what_ended_a_request(world, usual_rails):
    """A rank that closes early is named by the others' close, when nobody has waited for the request."""
    if world.size == 1:
        pytest.skip("a single rank agrees with itself")
    comm = Communicator(world, rails=usual_rails)
    comm.Barrier()
    world.Barrier()
    if comm.rank > 0:
        request, array = start(comm, 0)
    with pytest.raises(SignatureMismatchError, match=r"rank 0 .* closed .* called collective 2"):
        comm.close()
    assert not comm.is_open
    if comm.rank > 0:
        with pytest.raises(SignatureMismatchError, match=r"rank 0 .* closed"):
            request.Wait()
        check_equal(array, contribution(comm.rank, COUNT, "int64", 0))


def test_abandoned_requests_say_so(world, usual_rails):
    """Requests that are outstanding when the communicator is given up raise, instead of waiting for ever."""
    if world.size == 1:
        pytest.skip("a single rank waits for nobody")
    comm = Communicator(world, rails=usual_rails)
    if comm.rank > 0:
        request, _ = start(comm, 0)
    comm.abandon()
    if comm.rank > 0:
        with pytest.raises(IncompleteCollectiveError, match="collective 1 was given up with"):
            request.Wait()


def test_a_rail_dies_under_requests(world, usual_spare_rails):
    """A repair while several requests are outstanding costs no element of any of them."""
    with Communicator(world, rails=usual_spare_rails) as comm:
        kill_after(comm, DEAD, 3)
        started = [start(comm, turn) for turn in range(4)]
        while not started[-1][0].Test():
            time.sleep(1e-4)
        for turn, (_, array) in enumerate(started):
            check(comm, array, turn)
        assert not comm.health[DEAD].is_up
        if comm.nic == DEAD:
            assert sum(len(request.report.failovers) for request, _ in started) == len(comm.failovers) > 0


def test_cut_comes_out_of_wait(world, usual_spare_rails):
    """When a node is cut off every rank learns it from Wait, and its arrays are as they were."""
    comm = Communicator(world, rails=usual_spare_rails, isolation_timeout=1.0)
    comm.Barrier()
    if comm.nic.node == 1:
        kill_after(comm, comm.nic, 1)
    request, array = start(comm, 0)
    with pytest.raises(IsolatedError, match=r"no longer connect .*node(s [\d, ]*)? ?1"):
        request.Wait()
    check_equal(array, contribution(comm.rank, COUNT, "int64", 0), "the user's array")
    comm.close()
