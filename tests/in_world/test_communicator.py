from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from algorithms.nic import Nic
from r2cc_mpi import Communicator, SignatureMismatchError, UsageError
from tests.in_world.data import check_equal, contribution, total

pytestmark = pytest.mark.mpi


def check_works(comm, world, turn=0):
    """Make sure that a communicator can still be used."""
    receive = np.empty(1009, np.int64)
    comm.Allreduce(contribution(world.rank, 1009, "int64", turn), receive)
    check_equal(receive, total(world.size, 1009, "int64", turn), "after that")


def test_barrier_waits_for_everybody(world, rails):
    """No rank leaves a barrier before the last one has entered it."""
    from mpi4py import MPI

    window = MPI.Win.Allocate_shared(8 if world.rank == 0 else 0, 1, comm=world)
    entered = np.array(window.Shared_query(0)[0], copy=False).view(np.int64)
    window.Lock_all()
    one = np.ones(1, np.int64)
    with Communicator(world, rails=rails) as comm:
        for turn in range(1, 11):
            window.Accumulate(one, 0)
            window.Flush(0)
            comm.Barrier()
            window.Sync()
            assert entered[0] >= turn * world.size
            world.Barrier()
    window.Unlock_all()
    window.Free()


def test_layout(world, rails):
    """Ranks are numbered node by node, and either number of the layout is enough."""
    for given in (
        {"rails": rails},
        {"nodes": world.size // rails},
        {"rails": rails, "nodes": world.size // rails},
    ):
        with Communicator(world, **given) as comm:
            assert (comm.layout.nodes, comm.layout.rails) == (world.size // rails, rails)
            assert comm.nic == Nic(*divmod(world.rank, rails))
            assert (comm.rank, comm.size) == (comm.Get_rank(), comm.Get_size()) == (world.rank, world.size)


def test_ranks_of_one_host_are_one_node(world):
    """Without a layout every host is a node, so here there is one."""
    with Communicator(world) as comm:
        assert (comm.layout.nodes, comm.layout.rails) == (1, world.size)
        check_works(comm, world)


def test_part_of_the_world(world):
    """A communicator of some ranks leaves the others alone; they may have one of their own."""
    part = world.Split(world.rank % 2)
    with Communicator(part, rails=1) as comm:
        check_works(comm, part)
    part.Free()


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"rails": 5}, "cannot be divided into nodes of 5 rails"),
        ({"nodes": 7}, "cannot be divided into 7 nodes"),
        ({"nodes": 3, "rails": 3}, "3 nodes of 3 rails need 9 ranks"),
        ({"rails": 0}, "0 rails"),
        ({"rails": 1, "strategy": "magic"}, "unknown strategy 'magic'"),
        ({"rails": 1, "failed": [Nic(99, 0)]}, "node 99 rail 0"),
        ({"rails": 1, "rail_rate": 0.0}, "rail_rate is 0"),
        ({"rails": 1, "isolation_timeout": -1.0}, "isolation_timeout is -1"),
    ],
)
def test_impossible_arguments(world, wrong, problem):
    """What cannot be is refused on every rank, and another communicator can be made after it."""
    with pytest.raises(UsageError, match=problem):
        Communicator(world, **wrong)
    with Communicator(world, rails=1) as comm:
        check_works(comm, world)


def test_arguments_that_differ(world):
    """When one rank gives another argument every rank is told which, and may try again."""
    if world.size == 1:
        pytest.skip("a single rank agrees with itself")
    odd = world.size - 1
    for name, usual, other in (
        ("rails", 1, 7),
        ("nodes", None, 1),
        ("rail_rate", 50e6, 51e6),
        ("strategy", "auto", "magic"),
        ("isolation_timeout", 10, 11.5),
        ("failed", [], [Nic(0, 0)]),
    ):
        arguments: dict[str, Any] = {"rails": 1, name: other if world.rank == odd else usual}
        with pytest.raises(SignatureMismatchError, match=rf"rank {odd} creates .* with {name}=.*, rank 0"):
            Communicator(world, **arguments)
    with Communicator(world, rails=1) as comm:
        check_works(comm, world)


def test_close(world, rails):
    """Closing twice is fine; using it after that is refused."""
    comm = Communicator(world, rails=rails)
    check_works(comm, world)
    assert comm.is_open
    comm.close()
    comm.close()
    assert not comm.is_open
    for use in (comm.Barrier, lambda: comm.Allreduce(np.zeros(1), np.zeros(1))):
        with pytest.raises(UsageError, match="this communicator is closed; create a new one"):
            use()


def unsuitable():
    """List arguments that are refused, with what is said of them."""
    fine, memory = np.zeros(10), np.zeros(15)
    read_only = np.zeros(10)
    read_only.setflags(write=False)
    return [
        ([1.0], fine, "sendbuf is a list"),
        (fine, [1.0], "recvbuf is a list"),
        (np.zeros(20)[::2], fine, "sendbuf is not contiguous"),
        (fine, np.zeros((10, 2))[:, 0], "recvbuf is not contiguous"),
        (np.zeros(10, np.complex64), np.zeros(10, np.complex64), "elements of type complex64"),
        (memory[:10], memory[5:], "overlap"),
        (np.zeros(10), read_only, "recvbuf is read-only"),
        (np.zeros(10, ">f8"), np.zeros(10, ">f8"), "foreign byte order"),
        (fine, np.zeros(11), "both must be alike"),
        (fine, np.zeros(10, np.float32), "both must be alike"),
    ]


def test_unsuitable_arrays_are_refused_before_anything_is_sent(world, rails):
    """Arrays that cannot be reduced are refused at once, and the communicator can be used as before."""
    with Communicator(world, rails=rails) as comm:
        check_works(comm, world)
        comm.settle()
        for turn, (send, receive, problem) in enumerate(unsuitable()):
            before = comm.counters.sent_chunks, comm.last_report
            with pytest.raises(UsageError, match=problem):
                comm.Allreduce(send, receive)
            assert (comm.counters.sent_chunks, comm.last_report) == before
            world.Barrier()
            check_works(comm, world, turn)
            comm.settle()
            world.Barrier()


def test_one_rank_may_err_and_try_again(world, rails):
    """A rank whose arguments are refused joins the others with the right ones."""
    with Communicator(world, rails=rails) as comm:
        if world.rank == world.size - 1:
            with pytest.raises(UsageError):
                comm.Allreduce(np.zeros(3), np.zeros(4))
        check_works(comm, world)


def test_other_operations_are_refused(world, rails):
    """Operations that the executor does not know are refused by every rank, and nothing else happens."""
    from mpi4py import MPI

    with Communicator(world, rails=rails) as comm:
        for op in (MPI.BXOR, MPI.MAXLOC):
            with pytest.raises(UsageError, match=r"reduces with MPI\.SUM"):
                comm.Allreduce(MPI.IN_PLACE, np.zeros(3), op=op)
        check_works(comm, world)


MISMATCHES = {
    "a smaller array": lambda comm: comm.Allreduce(np.ones(99, np.float32), np.full(99, -1, np.float32)),
    "a larger array": lambda comm: comm.Allreduce(np.ones(10**6, np.float32), np.full(10**6, -1, np.float32)),
    "another type": lambda comm: comm.Allreduce(np.ones(100, np.int32), np.full(100, -1, np.int32)),
    "no elements": lambda comm: comm.Allreduce(np.ones(0, np.float32), np.full(0, -1, np.float32)),
    "a barrier": lambda comm: comm.Barrier(),
}


@pytest.mark.parametrize(
    ("mismatch", "odd", "most_rails"),
    [
        ("a smaller array", "first", 2),
        ("a larger array", "second", 2),
        ("a larger array", "last", 1),
        ("another type", "last", 3),
        ("no elements", "second", 1),
        ("a barrier", "last", 2),
    ],
)
def test_mismatch_is_raised_on_every_rank(world, mismatch, odd, most_rails):
    """When one rank makes another call, every rank is told, nothing is written, and no further call works."""
    if world.size == 1:
        pytest.skip("a single rank agrees with itself")
    rails = max(rails for rails in range(1, most_rails + 1) if world.size % rails == 0)
    odd_rank = {"first": 0, "second": 1, "last": world.size - 1}[odd]
    with Communicator(world, rails=rails) as comm:
        check_works(comm, world)
        world.Barrier()  # a rank that is still in the first call would be told there
        receive = np.full(100, -1, np.float32)

        def usual(comm):
            comm.Allreduce(np.ones(100, np.float32), receive)

        call = MISMATCHES[mismatch] if world.rank == odd_rank else usual
        with pytest.raises(SignatureMismatchError, match=r"collective 2: rank \d .* instead of"):
            call(comm)
        assert (receive == -1).all()
        with pytest.raises(SignatureMismatchError):
            comm.Allreduce(np.ones(100, np.float32), receive)


@pytest.mark.parametrize("odd", ["first", "last"])
def test_rank_that_closes_too_early_is_named(world, rails, odd):
    """When a rank closes while the others make another call, all are told, instead of waiting for ever."""
    if world.size == 1:
        pytest.skip("a single rank agrees with itself")
    odd_rank = {"first": 0, "last": world.size - 1}[odd]
    comm = Communicator(world, rails=rails)
    check_works(comm, world)
    world.Barrier()  # a rank that is still in the first call would be told there
    last_call = comm.close if world.rank == odd_rank else comm.Barrier
    with pytest.raises(SignatureMismatchError, match=rf"rank {odd_rank} .* closed .* called collective 2"):
        last_call()
    comm.close()


def test_report_of_the_last_call(world, rails):
    """The last call's number, strategy and times are there, and every call counts, barriers too."""
    with Communicator(world, rails=rails) as comm:
        assert comm.last_report is None
        check_works(comm, world)
        comm.Barrier()
        check_works(comm, world)
        report = comm.last_report
        assert report is not None
        assert (report.number, report.strategy, report.failovers) == (3, "ring", ())
        assert min(report.start_s, report.network_s) >= 0
        assert report.start_s + report.network_s <= report.time_s


def test_health_of_a_healthy_network(world, rails):
    """Every NIC is listed and up, and nothing was ever reported."""
    with Communicator(world, rails=rails) as comm:
        check_works(comm, world)
        assert list(comm.health) == list(comm.layout)
        assert all(nic.is_up and nic.since is None and nic.cause == "" for nic in comm.health.values())
        assert comm.detections == ()
