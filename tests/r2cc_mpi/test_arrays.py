from __future__ import annotations

import numpy as np
import pytest

from r2cc_mpi.arrays import check_arrays
from r2cc_mpi.errors import UsageError
from tests.r2cc_mpi.fakes import IN_PLACE, FakeMpi

DTYPES = ["float32", "float64", "int32", "int64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_are_of_the_users_memory(dtype):
    """The flat views share the user's memory, whatever the shape."""
    send, receive = np.zeros((2, 3), dtype), np.zeros((2, 3), dtype)
    arrays = check_arrays(send, receive, FakeMpi)
    arrays.send[5], arrays.receive[0] = 7, 8
    assert (send[1, 2], receive[0, 0]) == (7, 8)
    assert (len(arrays.send), arrays.send.dtype) == (6, dtype)


def test_in_place_gives_the_same_memory_twice():
    """In place, input and result are the received array."""
    receive = np.zeros(4, np.float32)
    arrays = check_arrays(IN_PLACE, receive, FakeMpi)
    assert arrays.send is arrays.receive
    arrays.receive[:] = 3
    assert receive.tolist() == [3] * 4


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (2, 3, 4)])
def test_any_shape(shape):
    """Scalars, empty arrays and arrays of many dimensions are flattened."""
    receive = np.zeros(shape, np.int64)
    assert len(check_arrays(IN_PLACE, receive, FakeMpi).receive) == receive.size


def test_subclasses_are_seen_as_plain_arrays():
    """A matrix, which cannot be flat, is taken as the array it is."""
    matrix = np.zeros((2, 3), np.float32).view(np.matrix)
    arrays = check_arrays(IN_PLACE, matrix, FakeMpi)
    assert (type(arrays.receive), arrays.receive.shape) == (np.ndarray, (6,))
    arrays.receive[5] = 9
    assert matrix[1, 2] == 9


def test_masked_arrays_are_refused():
    """A masked array has elements that do not count, which a sum over ranks cannot respect."""
    with pytest.raises(UsageError, match=r"recvbuf is a masked array; pass its \.data"):
        check_arrays(IN_PLACE, np.ma.masked_array(np.zeros(3), [False, True, False]), FakeMpi)


def test_input_may_be_read_only():
    """Only the result is written to."""
    send = np.zeros(3)
    send.setflags(write=False)
    assert len(check_arrays(send, np.zeros(3), FakeMpi).send) == 3


READ_ONLY = np.zeros(3)
READ_ONLY.setflags(write=False)


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        ([1.0, 2.0], "is a list; pass a NumPy array"),
        (None, "is a NoneType; pass a NumPy array"),
        (np.zeros(6)[::2], "is not contiguous; pass numpy.ascontiguousarray"),
        (np.zeros((2, 3)).T, "is not contiguous"),
        (
            np.zeros(3, np.complex64),
            "cannot reduce elements of type complex64; use one of float32, float64, int32",
        ),
        (np.zeros(3, bool), "cannot reduce elements of type bool"),
        (np.zeros(3, object), "cannot reduce elements of type object"),
        (np.zeros(3, ">f4"), "is in foreign byte order; convert it"),
    ],
)
@pytest.mark.parametrize("place", ["sendbuf", "recvbuf"])
def test_unsuitable_arrays_are_named(array, problem, place):
    """What is wrong with which argument is said, and what to do."""
    good = np.zeros(3)
    send, receive = (array, good) if place == "sendbuf" else (good, array)
    with pytest.raises(UsageError, match=problem) as error:
        check_arrays(send, receive, FakeMpi)
    assert place in str(error.value) or "elements of type" in str(error.value)


def test_read_only_result_is_refused():
    """A result that cannot be written is found before anything is sent."""
    with pytest.raises(UsageError, match="recvbuf is read-only"):
        check_arrays(np.zeros(3), READ_ONLY, FakeMpi)


@pytest.mark.parametrize("send", [np.zeros(4), np.zeros(3, np.float32)])
def test_unlike_arrays_are_refused(send):
    """Input and result of different size or type are refused, with both described."""
    with pytest.raises(UsageError, match=r"sendbuf has \d elements of float\d\d, recvbuf 3 of float64"):
        check_arrays(send, np.zeros(3), FakeMpi)


def test_overlap_is_refused():
    """Input and result in the same memory are refused, neighbours in one array are not."""
    memory = np.zeros(8)
    for send, receive in ((memory, memory), (memory[:5], memory[3:])):
        with pytest.raises(UsageError, match=r"sendbuf and recvbuf overlap; pass MPI\.IN_PLACE"):
            check_arrays(send, receive, FakeMpi)
    assert len(check_arrays(memory[:4], memory[4:], FakeMpi).send) == 4


def test_empty_arrays_do_not_overlap():
    """Two empty arrays are fine, even the same one."""
    empty = np.zeros(0)
    assert len(check_arrays(empty, empty, FakeMpi).send) == 0
