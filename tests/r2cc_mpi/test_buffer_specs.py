from __future__ import annotations

import array

import numpy as np
import pytest

from r2cc_mpi.buffer_specs import flat_array
from r2cc_mpi.errors import UsageError
from tests.r2cc_mpi.fakes import FakeMpi

FLOAT, INT, LONG = FakeMpi.FLOAT, FakeMpi.INT, FakeMpi.LONG


def read(spec):
    """Read a specification of the receive buffer."""
    return flat_array(spec, "recvbuf", FakeMpi)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (lambda a: a, range(8)),
        (lambda a: [a, 3], range(3)),
        (lambda a: (a, 3), range(3)),
        (lambda a: [a, INT], range(8)),
        (lambda a: [a, "i"], range(8)),
        (lambda a: [a, 3, INT], range(3)),
        (lambda a: [a, None, INT], range(8)),
        (lambda a: [a, np.int64(3), "i4"], range(3)),
        (lambda a: [a, (3, 2)], range(2, 5)),
        (lambda a: [a, (3, 2), INT], range(2, 5)),
        (lambda a: [a, [None, 2], INT], range(2, 8)),
        (lambda a: [a, 3, 2, INT], range(2, 5)),
        (lambda a: [a, (0, 8), INT], range(0)),
        (lambda a: [a.reshape(2, 4), (3, 2), INT], range(2, 5)),
    ],
)
def test_forms_of_mpi4py(spec, expected):
    """Every form selects the elements that mpi4py would, in the user's own memory."""
    mine = np.arange(8, dtype=np.int32)
    flat = read(spec(mine))
    assert flat.tolist() == list(expected)
    assert flat.dtype == np.int32
    flat[:] = -1
    assert (mine == -1).sum() == len(expected)


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda: array.array("d", range(6)), np.float64),
        (lambda: memoryview(np.arange(6, dtype=np.float32).data), np.float32),
        (lambda: [bytearray(48), LONG], np.int64),
        (lambda: [memoryview(bytearray(24)), "f"], np.float32),
        (lambda: [np.zeros(3, np.complex128), "d"], np.float64),
        (lambda: [np.zeros(6, ">i8"), LONG], np.int64),
    ],
)
def test_any_contiguous_buffer(make, dtype):
    """Whatever has a buffer will do; with a type its bytes are taken for elements of that type."""
    flat = read(make())
    assert (len(flat), flat.dtype) == (6, dtype)
    flat[5] = 7


def test_memory_of_other_objects_is_shared():
    """What is written to the view is in the user's object."""
    numbers, raw = array.array("i", [0] * 4), bytearray(16)
    read(numbers)[2] = 5
    read([raw, (1, 2), INT])[0] = 5
    assert numbers.tolist() == [0, 0, 5, 0]
    assert raw == bytes(8) + (5).to_bytes(4, "little") + bytes(4)


def test_read_only_buffers_stay_read_only():
    """A buffer that may not be written gives a view that may not."""
    assert not read([bytes(8), INT]).flags.writeable


EIGHT = np.zeros(8, np.int32)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ([1.0, 2.0], r"recvbuf is a list; pass a NumPy array, or \[buffer, count, type\]"),
        ([], "recvbuf is a list; pass"),
        ((None, 3, INT), "recvbuf is a tuple; pass"),
        ("text", "recvbuf is a str; pass"),
        (None, "recvbuf is a NoneType; pass"),
        ([object(), 3], "recvbuf is a object; pass"),
        (FakeMpi.BOTTOM, "recvbuf is MPI.BOTTOM; absolute addresses are not supported"),
        ([FakeMpi.BOTTOM, 1, FLOAT], "recvbuf is MPI.BOTTOM"),
        (FakeMpi.IN_PLACE, "recvbuf is MPI.IN_PLACE; it can only stand for sendbuf"),
        ([FakeMpi.IN_PLACE, 3, INT], "recvbuf is MPI.IN_PLACE"),
        ([EIGHT], "specification of 1 items; it has 2 to 4"),
        ([EIGHT, 1, 2, INT, 4], "specification of 5 items"),
        ([EIGHT, 9], "recvbuf has 32 bytes, too few for 9 elements of int32 from element 0 on"),
        ([EIGHT, (7, 2), INT], "too few for 7 elements of int32 from element 2 on"),
        ([EIGHT, (None, 9), INT], "too few for 0 elements of int32 from element 9 on"),
        ([EIGHT, 5, LONG], "too few for 5 elements of int64"),
        ([bytearray(10), INT], "recvbuf has 10 bytes, no whole number of int32 elements; give a count"),
        ([EIGHT, -1], "the count of recvbuf is -1; give 0 or more"),
        ([EIGHT, (1, -2)], "the displacement of recvbuf is -2"),
        ([EIGHT, 2.5, INT], "the count of recvbuf is 2.5; give a whole number"),
        ([EIGHT, (1, 2, 3), INT], r"recvbuf has a count of 3 numbers; give count or \(count, displ\)"),
        ([EIGHT, FakeMpi.VECTOR], "recvbuf has a derived datatype; pack the data and use a predefined one"),
        ([EIGHT, 1, FakeMpi.NULL], "recvbuf has a derived datatype"),
        ([EIGHT, 1, "no type"], "recvbuf has the type 'no type'; use an MPI datatype"),
        ([EIGHT, 1, 5], "recvbuf has the type 5; use an MPI datatype"),
        ([np.zeros(6)[::2], "d"], "recvbuf is not contiguous"),
        ([np.zeros(3, object), 1, INT], "recvbuf holds Python objects"),
        (np.zeros(3, ">f4"), "foreign byte order"),
    ],
)
def test_what_is_wrong_is_named(spec, problem):
    """A specification that makes no sense is refused with what is wrong and what would do."""
    with pytest.raises(UsageError, match=problem):
        read(spec)


def test_arrays_in_gpu_memory_are_refused_by_name():
    """An array in GPU memory is known for what it is, and not read through some slow conversion."""

    class OnGpu:
        """Stands for a CuPy array."""

        __cuda_array_interface__ = {"version": 3}  # noqa: RUF012

    with pytest.raises(UsageError, match="recvbuf is in GPU memory"):
        read(OnGpu())
    with pytest.raises(UsageError, match="recvbuf is in GPU memory"):
        read([OnGpu(), 3, INT])
