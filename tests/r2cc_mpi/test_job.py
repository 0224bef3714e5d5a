from __future__ import annotations

from types import SimpleNamespace

import mpi4py
import numpy as np
import pytest

from algorithms.nic import Nic
from r2cc_mpi.errors import IsolatedError, WrongResultError
from r2cc_mpi.fault_runner import FaultRunner
from r2cc_mpi.job import Job, Work, corrupt_element
from r2cc_mpi.own_data import OwnData
from r2cc_mpi.patterns import Pattern
from r2cc_mpi.reduction import Reduction
from r2cc_mpi.time_limit import TimeLimit
from tests.r2cc_mpi.fakes import IN_PLACE, FakeCommunicator

RANKS = 4


@pytest.fixture(autouse=True)
def no_mpi(monkeypatch):
    """Put a stand-in where MPI would be imported from, since importing it starts MPI."""
    monkeypatch.setattr(mpi4py, "MPI", SimpleNamespace(IN_PLACE=IN_PLACE), raising=False)


def make_job(
    comm,
    count=100,
    dtype="float32",
    calls=1,
    limit_s=None,
    reduction=Reduction.SUM,
    own=None,
    **more,
):
    """Make a job at rank 0 of `comm`, whose other ranks contribute what the pattern says.

    Without a pattern it has the user's own array, `own`.
    """
    data = Pattern(dtype, 0, RANKS, reduction) if own is None else OwnData(own, [own])
    if comm.others is None and own is None:
        comm.others = others_of(data, count, dtype)
    work = Work(count, np.dtype(dtype), reduction, calls, **more)
    return Job(comm, FaultRunner(comm, ()), TimeLimit(comm, limit_s), data, work, expected_bytes=100)


def others_of(pattern, count, dtype):
    """Give what adds the other ranks' contributions to those of rank 0, of whichever turn they are."""
    patterns = [Pattern(dtype, rank, RANKS) for rank in range(1, RANKS)]

    def others(mine):
        array = np.empty(count, dtype)
        for turn in range(-10, 30):
            pattern.fill(array, turn)
            if np.array_equal(array, mine):
                return sum(contribution(one, count, dtype, turn) for one in patterns)
        raise AssertionError("rank 0 contributed something else")

    return others


def contribution(pattern, count, dtype, turn):
    """Give one rank's contribution."""
    array = np.empty(count, dtype)
    pattern.fill(array, turn)
    return array


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


def test_persistent_iterations_replay_one_plan():
    """Each array's plan is made once, before the first iteration that uses it, and then started."""
    comm = FakeCommunicator()
    comm.excluded = [Nic(1, 0)]
    job = make_job(comm, calls=2, persistent=True)
    replayed = ["barrier", "start", "two arrays", "start", "two arrays"]
    for number, planned in ((1, ["plan", "plan"]), (2, [])):
        one = job.iterate(number, in_place=False, check=True, corrupt=False)
        assert comm.calls == [*planned, *replayed]
        assert (one.wrong, one.planned_without) == (0, [[1, 0]])
        comm.calls.clear()
        comm.excluded = []
    assert job.iterate(1, in_place=True, check=True, corrupt=False).planned_without == []
    assert comm.calls[:2] == ["plan", "plan"]


def test_corrupted_element_is_seen():
    """`--corrupt` spoils one element behind the communicator's back, and the check sees it."""
    job = make_job(FakeCommunicator())
    assert job.iterate(1, in_place=False, check=True, corrupt=True).wrong == 1
    assert job.iterate(2, in_place=True, check=True, corrupt=False).wrong == 0


def test_wrong_sum_is_seen():
    """A communicator that adds wrongly is found out."""
    job = make_job(FakeCommunicator(others=lambda mine: mine * 3))
    assert job.iterate(1, in_place=False, check=True, corrupt=False).wrong > 90


def test_result_that_was_never_written_is_seen(monkeypatch):
    """A communicator that returns without writing the result is found out, out of place and in place."""
    comm = FakeCommunicator()
    job = make_job(comm)
    allreduce = comm.Allreduce

    def forget(send, receive, op):
        before = receive.copy()
        allreduce(send, receive)
        receive[:] = before

    monkeypatch.setattr(comm, "Allreduce", forget)
    assert job.iterate(1, in_place=False, check=True, corrupt=False).wrong == 100
    assert job.iterate(1, in_place=True, check=True, corrupt=False).wrong > 90


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

    def give_up(_send, receive, op):
        if comm.calls.count("barrier") == 2:
            receive[50] = 1
        raise IsolatedError("node 1 does not answer")

    monkeypatch.setattr(comm, "Allreduce", give_up)
    with pytest.raises(IsolatedError):
        job.iterate(1, in_place=in_place, check=True, corrupt=False)
    with pytest.raises(WrongResultError, match="node 1 does not answer; and the user's array was written to"):
        job.iterate(1, in_place=in_place, check=True, corrupt=False)


def test_own_not_a_number_is_no_written_result(monkeypatch):
    """A given-up collective in place is not blamed for a NaN that the user brought."""
    mine = np.array([1.0, np.nan, 3.0])
    comm = FakeCommunicator()
    job = make_job(comm, 3, "float64", own=mine)

    def give_up(_send, _receive, op):
        raise IsolatedError("node 1 does not answer")

    monkeypatch.setattr(comm, "Allreduce", give_up)
    with pytest.raises(IsolatedError):
        job.iterate(1, in_place=True, check=True, corrupt=False)


@pytest.mark.parametrize("in_place", [False, True])
def test_aggregated_calls(in_place):
    """Several calls of an iteration follow one barrier, each with data of its own; times are those of one."""
    comm = FakeCommunicator()
    job = make_job(comm, calls=3)
    one = job.iterate(2, in_place=in_place, check=True, corrupt=False)
    assert comm.calls == ["barrier", *["in place" if in_place else "two arrays"] * 3]
    assert (one.collective, one.time_s, one.network_s, one.wrong) == (2, 0.5, 0.25, 0)
    assert len({result.tobytes() for result in job._results}) == 3


def test_every_aggregated_call_is_checked(monkeypatch):
    """A wrong element in the first of three calls is seen."""
    comm = FakeCommunicator()
    job = make_job(comm, calls=3)
    allreduce = comm.Allreduce

    def wrong_once(send, receive, op):
        allreduce(send, receive)
        if len(comm.calls) == 2:
            receive[7] += 1

    monkeypatch.setattr(comm, "Allreduce", wrong_once)
    assert job.iterate(1, in_place=False, check=True, corrupt=False).wrong == 1


def test_faults_count_the_bytes_of_all_calls(monkeypatch):
    """A share of an iteration's bytes is a share of what all its calls send."""
    job = make_job(FakeCommunicator(), calls=4)
    began = []
    monkeypatch.setattr(
        job._faults, "begin", lambda _number, expected_bytes, _now: began.append(expected_bytes)
    )
    job.iterate(1, in_place=False, check=False, corrupt=False)
    assert began == [400]


def test_reduction_is_passed_on():
    """The communicator is asked for the reduction of the job."""
    comm = FakeCommunicator(others=lambda mine: mine)
    make_job(comm, reduction=Reduction.MAX).iterate(1, in_place=False, check=False, corrupt=False)
    assert comm.ops == [Reduction.MAX]


def test_calls_are_watched(monkeypatch):
    """The time limit sees each call, and neither the barrier nor what is done between calls."""
    comm = FakeCommunicator()
    job = make_job(comm, limit_s=1.0)
    watched = {}
    for name in ("Allreduce", "Barrier"):
        call = getattr(comm, name)

        def look(*arrays, call=call, name=name, **how):
            watched[name] = job._limit.is_watching
            call(*arrays, **how)

        monkeypatch.setattr(comm, name, look)
    job.iterate(1, in_place=False, check=False, corrupt=False)
    assert watched == {"Allreduce": True, "Barrier": False}
    assert not job._limit.is_watching


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("value", [0, 1, 100])
def test_corrupting_changes_a_value_a_lot(dtype, value):
    """Whatever an element holds, it is another number afterwards, by more than any rounding."""
    array = np.full(3, value, dtype)
    corrupt_element(array, 1)
    assert array[[0, 2]].tolist() == [value, value]
    assert not abs(float(array[1]) - value) < 1
