from __future__ import annotations

import array

import numpy as np
import pytest

from r2cc_mpi import Communicator, UsageError
from tests.in_world.data import check_equal, contribution, total

pytestmark = pytest.mark.mpi

COUNT = 1009


def forms(mpi, mine):
    """List ways to name an array of int64, or a part of it, with the first element of the part."""
    bytes_ = bytearray(mine.tobytes())
    numbers = array.array("q", mine.tolist())
    return [
        ([mine, COUNT], mine, 0),
        ([mine, mpi.INT64_T], mine, 0),
        ((mine, COUNT, mpi.LONG), mine, 0),
        ([mine, (COUNT - 9, 9), mpi.INT64_T], mine[9:], 9),
        ([mine, None, "q"], mine, 0),
        (numbers, np.frombuffer(numbers, np.int64), 0),
        ([bytes_, mpi.INT64_T], np.frombuffer(bytes_, np.int64), 0),
        (memoryview(bytes_).cast("q"), np.frombuffer(bytes_, np.int64), 0),
    ]


def test_buffer_specifications(world, usual_rails):
    """Buffers named in mpi4py's ways are reduced as mpi4py reduces them, in place and not."""
    from mpi4py import MPI

    with Communicator(world, rails=usual_rails) as comm:
        expected = total(comm.size, COUNT, "int64")
        for number in range(len(forms(MPI, expected))):
            spec, seen, first = forms(MPI, contribution(comm.rank, COUNT, "int64"))[number]
            mpi_spec, reference, _ = forms(MPI, contribution(comm.rank, COUNT, "int64"))[number]
            world.Allreduce(MPI.IN_PLACE, mpi_spec)
            comm.Allreduce(MPI.IN_PLACE, spec)
            check_equal(seen, expected[first:], f"form {number}")
            check_equal(seen, reference, f"form {number}, beside mpi4py")
        receive = np.empty(COUNT, np.int64)
        comm.Allreduce([contribution(comm.rank, COUNT, "int64"), MPI.LONG], [receive, COUNT, MPI.INT64_T])
        check_equal(receive, expected)


def test_complex_numbers_as_pairs(world, usual_rails):
    """A type says how the bytes are seen: complex numbers add up as pairs of doubles."""
    from mpi4py import MPI

    with Communicator(world, rails=usual_rails) as comm:
        mine = contribution(comm.rank, COUNT, "float64") + 1j * contribution(comm.rank, COUNT, "float64", 1)
        comm.Allreduce(MPI.IN_PLACE, [mine, MPI.DOUBLE])
        check_equal(mine.real, total(comm.size, COUNT, "float64"))
        check_equal(mine.imag, total(comm.size, COUNT, "float64", 1))


def test_what_cannot_be_named(world, usual_rails):
    """Names that MPI has and this library has not are refused, by the names of the arguments."""
    from mpi4py import MPI

    vector = MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
    array_ = np.zeros(8)
    with Communicator(world, rails=usual_rails) as comm:
        for send, receive, problem in (
            (MPI.BOTTOM, array_, "sendbuf is MPI.BOTTOM"),
            ([MPI.BOTTOM, 1, vector], array_, "sendbuf is MPI.BOTTOM"),
            ([array_, 1, vector], np.zeros(2), "sendbuf has a derived datatype"),
            (array_, [np.zeros(8), 1, MPI.DATATYPE_NULL], "recvbuf has a derived datatype"),
            (array_, MPI.IN_PLACE, "recvbuf is MPI.IN_PLACE"),
            (array_, [np.zeros(8), MPI.COMPLEX], "elements of type complex64"),
            ([array_, 9, MPI.DOUBLE], np.zeros(9), "sendbuf has 64 bytes, too few for 9 elements"),
        ):
            with pytest.raises(UsageError, match=problem):
                comm.Allreduce(send, receive)
        comm.Allreduce(MPI.IN_PLACE, array_)
    vector.Free()
