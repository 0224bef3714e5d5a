from __future__ import annotations

import numpy as np
import pytest

from r2cc_mpi import Communicator
from r2cc_mpi.protocol.settings import MAX_CHUNK_BYTES
from tests.in_world.data import DTYPES, check_equal, contribution, total

pytestmark = pytest.mark.mpi


def counts_for(comm, itemsize):
    """List numbers of elements at which something may go wrong."""
    chunk = MAX_CHUNK_BYTES // itemsize
    parts = comm.layout.nodes * comm.layout.rails
    around = [parts * chunk - 1, parts * chunk, parts * chunk + 1]  # each stripe about one chunk
    return [0, 1, 2, 7, parts - 1, parts, parts + 1, 1009, chunk - 1, chunk, chunk + 1, *around]


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_exact(world, rails, dtype):
    """Every element on every rank is right for every count, with two arrays and in place."""
    from mpi4py import MPI

    with Communicator(world, rails=rails) as comm:
        for turn, count in enumerate(counts_for(comm, np.dtype(dtype).itemsize)):
            expected = total(world.size, count, dtype, turn)
            send, receive = contribution(world.rank, count, dtype, turn), np.full(count, -1, dtype)
            comm.Allreduce(send, receive)
            check_equal(receive, expected, f"{count} elements, two arrays")
            check_equal(send, contribution(world.rank, count, dtype, turn), "input")
            comm.Allreduce(MPI.IN_PLACE, send, op=MPI.SUM)
            check_equal(send, expected, f"{count} elements, in place")


def test_megabytes(world, rails):
    """A few MiB, more than a window of chunks on each channel, and not a round number."""
    count = 3 * (1 << 20) // 4 + 17
    with Communicator(world, rails=rails) as comm:
        receive = np.empty(count, np.float32)
        comm.Allreduce(contribution(world.rank, count, "float32"), receive)
        check_equal(receive, total(world.size, count, "float32"))


def test_arrays_of_two_dimensions(world, rails):
    """Arrays keep their shape, and slices that are contiguous are written to in place."""
    from mpi4py import MPI

    with Communicator(world, rails=rails) as comm:
        matrix = np.full((9, 1009), -5, np.int32)
        matrix[2:5] = contribution(world.rank, 3 * 1009, "int32").reshape(3, 1009)
        comm.Allreduce(MPI.IN_PLACE, matrix[2:5])
        check_equal(matrix[2:5], total(world.size, 3 * 1009, "int32").reshape(3, 1009))
        assert (matrix[:2] == -5).all()
        assert (matrix[5:] == -5).all()


def test_many_in_a_row(world, rails):
    """Collectives of any size and type follow each other without a barrier, some ranks being late."""
    generator = np.random.default_rng(4)
    with Communicator(world, rails=rails) as comm:
        for turn in range(40):
            count = int(generator.choice([0, 1, 5, 1000, 100_003]))
            dtype = str(generator.choice(DTYPES))
            receive = np.empty(count, dtype)
            comm.Allreduce(contribution(world.rank, count, dtype, turn), receive)
            check_equal(receive, total(world.size, count, dtype, turn), f"call {turn}")


def test_growing_and_shrinking(world, rails):
    """The shared buffer grows when a call needs more, and smaller calls after that are right too."""
    from mpi4py import MPI

    with Communicator(world, rails=rails) as comm:
        for turn, count in enumerate([10, 100_000, 10, 300_000, 1000, 400_000]):
            array = contribution(world.rank, count, "float64", turn)
            comm.Allreduce(MPI.IN_PLACE, array)
            check_equal(array, total(world.size, count, "float64", turn), f"{count} elements")


def test_one_communicator_after_the_other(world, rails):
    """A new communicator gets no message that was still under way in one that was closed before it."""
    for turn in range(10):
        with Communicator(world, rails=rails) as comm:
            receive = np.empty(5003, np.int32)
            comm.Allreduce(contribution(world.rank, 5003, "int32", turn), receive)
            check_equal(receive, total(world.size, 5003, "int32", turn), f"communicator {turn}")


def test_two_communicators_at_once(world, rails):
    """Two communicators with layouts of their own do not disturb each other, used in turn."""
    with Communicator(world, rails=rails) as first, Communicator(world, rails=1) as second:
        for turn in range(5):
            for comm in (first, second):
                receive = np.empty(50_021, np.int64)
                comm.Allreduce(contribution(world.rank, 50_021, "int64", turn), receive)
                check_equal(receive, total(world.size, 50_021, "int64", turn), f"turn {turn}")
        first.Barrier()


def test_paced_rails(world, rails):
    """On paced rails the sums are the same, and each NIC counts what it sent."""
    count = 20_011 * world.size
    with Communicator(world, rails=rails, rail_rate=50e6) as comm:
        receive = np.empty(count, np.int32)
        comm.Allreduce(contribution(world.rank, count, "int32"), receive)
        check_equal(receive, total(world.size, count, "int32"))
        comm.settle()
        nodes = comm.layout.nodes
        share = 2 * (nodes - 1) * count * 4 / (nodes * rails)
        assert abs(comm.counters.by_collective.get(1, [0, 0])[0] - share) <= 4 * 2 * nodes
