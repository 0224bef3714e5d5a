from __future__ import annotations

from types import SimpleNamespace

import mpi4py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Nic
from r2cc_mpi.errors import IsolatedError, WrongResultError
from r2cc_mpi.fault_runner import FaultRunner
from r2cc_mpi.job import PERIOD, Job, OwnData, Pattern
from tests.r2cc_mpi.fakes import IN_PLACE, FakeCommunicator

DTYPES = ["float32", "float64", "int32", "int64"]
RANKS = 4


@pytest.fixture(autouse=True)
def no_mpi(monkeypatch):
    """Put a stand-in where MPI would be imported from, since importing it starts MPI."""
    monkeypatch.setattr(mpi4py, "MPI", SimpleNamespace(IN_PLACE=IN_PLACE), raising=False)


def contributions(count, dtype, ranks, iteration):
    """Give what each rank contributes."""
    arrays = [np.empty(count, dtype) for _ in range(ranks)]
    for rank, array in enumerate(arrays):
        Pattern(count, dtype, rank, ranks).fill(array, iteration)
    return arrays


@given(
    st.integers(1, 3 * PERIOD), st.sampled_from(DTYPES), st.sampled_from([1, 2, 9, 64]), st.integers(-20, 20)
)
def test_pattern_knows_its_sum(count, dtype, ranks, iteration):
    """The sum of all ranks' contributions, added by NumPy in any order, is what the check expects."""
    arrays = contributions(count, dtype, ranks, iteration)
    for order in (arrays, arrays[::-1]):
        total = np.zeros(count, dtype)
        for array in order:
            total += array
        assert Pattern(count, dtype, 0, ranks).count_wrong(total, iteration) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_pattern_is_exact_for_a_thousand_ranks(dtype):
    """Every partial sum stays below 2 to the 24, so that even float32 rounds nothing."""
    ranks = 1000
    weights = [(rank * rank) % PERIOD for rank in range(ranks)]
    assert sum(weights) + ranks * (PERIOD - 1) < 2**24
    total = np.arange(PERIOD).astype(dtype) * np.dtype(dtype).type(ranks) + np.dtype(dtype).type(sum(weights))
    pattern = Pattern(PERIOD, dtype, 0, ranks)
    assert pattern.count_wrong(total, 0) == 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", [0, 1, 2**18 - 1, 2**18, 300_000 - 1])
def test_pattern_sees_one_spoiled_element(dtype, place):
    """A single element that is one too large is found wherever it is."""
    count = 300_000
    total = sum(contributions(count, dtype, 2, 1))
    total[place] += 1
    assert Pattern(count, dtype, 0, 2).count_wrong(total, 1) == 1


@pytest.mark.parametrize("wrong", ["swapped sections", "rank twice", "rank missing", "other iteration"])
def test_pattern_sees_what_goes_wrong_in_a_collective(wrong):
    """Sections in the wrong place, a contribution twice or not at all, and stale results are all seen."""
    count = 10_000
    arrays = contributions(count, "float32", 3, 1)
    total = sum(arrays)
    if wrong == "swapped sections":
        total = np.concatenate((total[count // 2 :], total[: count // 2]))
    elif wrong == "rank twice":
        total += arrays[1]
    elif wrong == "rank missing":
        total -= arrays[2]
    else:
        total = sum(contributions(count, "float32", 3, 2))
    assert Pattern(count, "float32", 0, 3).count_wrong(total, 1) > count * 0.9


def test_pattern_differs_from_rank_to_rank():
    """No two ranks contribute the same."""
    arrays = contributions(100, "int32", 20, 1)
    assert len({array.tobytes() for array in arrays}) == 20


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_own_integers_must_agree_exactly(dtype):
    """The sum of the user's integers is NumPy's, and one that is off by one is seen."""
    arrays = [np.array([1, -5, 10**6 * rank], dtype) for rank in range(3)]
    data = OwnData(arrays[1], arrays)
    result = np.array([3, -15, 3 * 10**6], dtype)
    assert data.count_wrong(result, 1) == 0
    result[2] -= 1
    assert data.count_wrong(result, 1) == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_own_floats_may_be_added_in_any_order(dtype):
    """Rounding that comes from the order of additions is allowed, anything more is not."""
    arrays = [np.array([0.1 * (rank + 1), 1e6, -1e6][:2], dtype) for rank in range(5)]
    data = OwnData(arrays[0], arrays)
    backwards = arrays[4] + arrays[3] + arrays[2] + arrays[1] + arrays[0]
    assert data.count_wrong(backwards, 1) == 0
    for spoiled in (backwards * np.dtype(dtype).type(1.0001), np.full(2, np.nan, dtype)):
        assert data.count_wrong(spoiled, 1) == 2


def test_own_data_is_the_same_in_every_iteration():
    """The rank contributes its own array, unchanged."""
    mine = np.arange(5)
    array = np.zeros(5, np.int64)
    OwnData(mine, [mine]).fill(array, 7)
    assert array.tolist() == mine.tolist()


def make_job(comm, count=100, dtype="float32"):
    """Make a job at rank 0 of `comm`, whose other ranks contribute what the pattern says."""
    pattern = Pattern(count, dtype, 0, RANKS)
    weights = [rank * rank for rank in range(RANKS)]
    if comm.others is None:
        comm.others = lambda mine: mine * (RANKS - 1) + sum(weights)
    return Job(comm, FaultRunner(comm, ()), pattern, count=count, dtype=dtype, expected_bytes=100)


@pytest.mark.parametrize("in_place", [False, True])
def test_iteration_is_timed_and_checked(in_place):
    """An iteration is a barrier, then one call with one or two arrays, and every element is checked."""
    comm = FakeCommunicator()
    comm.excluded = [Nic(1, 0)]
    job = make_job(comm)
    one = job.iterate(3, in_place=in_place, check=True, corrupt=False)
    assert comm.calls == ["barrier", "in place" if in_place else "two arrays"]
    assert (one.collective, one.time_s, one.network_s, one.strategy) == (2, 0.5, 0.25, "ring")
    assert (one.wrong, one.down) == (0, [[1, 0]])


def test_corrupted_element_is_seen():
    """`--corrupt` spoils one element behind the communicator's back, and the check sees it."""
    job = make_job(FakeCommunicator())
    assert job.iterate(1, in_place=False, check=True, corrupt=True).wrong == 1
    assert job.iterate(2, in_place=True, check=True, corrupt=False).wrong == 0


def test_wrong_sum_is_seen():
    """A communicator that adds wrongly is found out."""
    job = make_job(FakeCommunicator(others=lambda mine: mine * 3))
    assert job.iterate(1, in_place=False, check=True, corrupt=False).wrong == 100


def test_result_that_was_never_written_is_seen(monkeypatch):
    """A communicator that returns without writing the result is found out, out of place and in place."""
    comm = FakeCommunicator()
    job = make_job(comm)
    allreduce = comm.Allreduce

    def forget(send, receive):
        before = receive.copy()
        allreduce(send, receive)
        receive[:] = before

    monkeypatch.setattr(comm, "Allreduce", forget)
    for in_place in (False, True):
        assert job.iterate(1, in_place=in_place, check=True, corrupt=False).wrong == 100


def test_unchecked_iteration():
    """Without a check nothing is said about wrong elements."""
    assert make_job(FakeCommunicator()).iterate(1, in_place=False, check=False, corrupt=False).wrong is None


def test_warm_up_has_no_barriers():
    """Warming up is calls alone."""
    comm = FakeCommunicator()
    make_job(comm).warm_up(2)
    assert comm.calls == ["two arrays", "two arrays"]


@pytest.mark.parametrize("in_place", [False, True])
def test_given_up_collective_leaves_arrays_alone(monkeypatch, in_place):
    """If a collective is given up and the user's array was written to, that is a wrong result."""
    comm = FakeCommunicator()
    job = make_job(comm)

    def give_up(_send, receive):
        if comm.calls.count("barrier") == 2:
            receive[50] += 1
        raise IsolatedError("node 1 does not answer")

    monkeypatch.setattr(comm, "Allreduce", give_up)
    with pytest.raises(IsolatedError):
        job.iterate(1, in_place=in_place, check=True, corrupt=False)
    with pytest.raises(WrongResultError, match="node 1 does not answer; and the user's array was written to"):
        job.iterate(1, in_place=in_place, check=True, corrupt=False)
