from __future__ import annotations

import pytest

from r2cc_mpi import time_limit
from r2cc_mpi.time_limit import ANSWER_S, TimeLimit
from tests.r2cc_mpi.fakes import FakeCommunicator

LIMIT_S = 2.0


@pytest.fixture(autouse=True)
def zero_clock(monkeypatch):
    """Let every call begin at second zero."""
    monkeypatch.setattr(time_limit, "clock", lambda: 0.0)


def make_limit(comm, seconds=LIMIT_S):
    """Make a limit at rank 0."""
    return TimeLimit(comm, seconds)


def answer(comm, *finished):
    """Let ranks answer; each number says which collective a rank has finished, None is silence."""
    comm.roll.ask(1)
    for rank, number in enumerate(finished):
        if number is not None:
            comm.roll.answer(rank, number)


def test_call_in_time_is_left_alone():
    """Before the limit nobody is asked, and after the call nobody either."""
    comm = FakeCommunicator()
    limit = make_limit(comm)
    with limit.watching():
        limit.look(LIMIT_S)
    limit.look(100.0)
    assert (comm.roll.asked, comm.given_up) == (0, [])


def test_ranks_that_have_not_finished_are_named():
    """Once all have answered, those that are behind are named, and it is said once."""
    comm = FakeCommunicator()
    limit = make_limit(comm)
    answer(comm, 1, 0, 1, 0)
    with limit.watching():
        limit.look(LIMIT_S + 0.01)
        limit.look(LIMIT_S + 0.02)
    (reason,) = comm.given_up
    assert (
        "took longer than 2 s (-T); not finished: rank 1 (node 0 rail 1), rank 3 (node 1 rail 1);" in reason
    )


def test_rank_that_does_not_answer_is_named():
    """A rank that says nothing is waited for a little, and then named as such."""
    comm = FakeCommunicator()
    limit = make_limit(comm)
    answer(comm, 0, 0, None, 1)
    with limit.watching():
        limit.look(LIMIT_S + ANSWER_S)
        assert comm.given_up == []
        limit.look(LIMIT_S + ANSWER_S + 0.01)
    assert "no answer: rank 2 (node 1 rail 0);" in comm.given_up[0]
    assert "not finished: rank 0 (node 0 rail 0), rank 1 (node 0 rail 1);" in comm.given_up[0]


def test_collective_that_has_just_finished_is_not_given_up():
    """If by now everybody has done its part, only the copying of results is late."""
    comm = FakeCommunicator()
    limit = make_limit(comm)
    answer(comm, 1, 1, 1, 1)
    with limit.watching():
        limit.look(LIMIT_S + 5)
    assert comm.given_up == []


def test_without_a_limit_nothing_is_hooked():
    """No limit, no hook; a limit hooks itself into the driver."""
    comm = FakeCommunicator()
    make_limit(comm, None)
    assert comm.hooks == []
    limit = make_limit(comm)
    assert comm.hooks == [limit.look]
