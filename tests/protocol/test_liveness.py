from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2cc_mpi.protocol.liveness import Liveness, describe, nodes_of

STALL_S, TIMEOUT_S = 0.5, 6.0
ME, RANKS = 1, 4


def waiting(since: float = 0.0) -> Liveness:
    """Make the liveness of a rank that waits."""
    liveness = Liveness(ME, RANKS, STALL_S, TIMEOUT_S)
    liveness.progress(since)
    return liveness


def test_hello_is_new_once():
    """A HELLO is passed on when it is new; one that comes back, an older one and the rank's own are not."""
    liveness = waiting()
    assert liveness.heard(2, 1, 0.0)
    assert not liveness.heard(2, 1, 0.1)
    assert liveness.heard(2, 3, 0.2)
    assert not liveness.heard(2, 2, 0.3)
    assert not liveness.heard(ME, 9, 0.4)
    assert liveness.heard(3, 1, 0.5)


def test_rank_is_stuck_after_the_stall_time():
    """A rank that waits without progress is stuck; one that got on or that rests is not."""
    liveness = waiting()
    assert not liveness.is_stuck(STALL_S)
    assert liveness.is_stuck(STALL_S + 0.01)
    liveness.progress(1.0)
    assert not liveness.is_stuck(1.5)
    assert liveness.is_stuck(1.51)
    liveness.rest()
    assert not liveness.is_stuck(100.0)
    assert liveness.progress_count == 2


def test_hellos_are_rare():
    """A rank says HELLO once in a stall time, answers twice as often at most; numbers rise by one."""
    liveness = waiting()
    assert liveness.next_hello(0.0) == 1
    assert liveness.next_hello(0.4) is None
    assert liveness.next_hello(0.2, answer=True) is None
    assert liveness.next_hello(0.25, answer=True) == 2
    assert liveness.next_hello(0.7) is None
    assert liveness.next_hello(0.75) == 3


def test_silent_ranks_are_named_after_the_timeout():
    """Ranks that were not heard for the isolation timeout while this one waited are silent."""
    liveness = waiting()
    liveness.heard(0, 1, 0.0)
    liveness.heard(2, 1, 3.0)
    assert liveness.silent_ranks(TIMEOUT_S) == []
    assert liveness.silent_ranks(TIMEOUT_S + 0.1) == [0, 3]
    assert liveness.silent_ranks(9.1) == [0, 2, 3]


def test_nobody_is_silent_for_a_rank_that_does_not_wait():
    """A rank between collectives expects nothing, and one that has just got on has not waited yet."""
    liveness = waiting()
    liveness.rest()
    assert liveness.silent_ranks(100.0) == []
    liveness.progress(100.0)
    assert liveness.silent_ranks(101.0) == []
    assert liveness.silent_ranks(106.1) == [0, 2, 3]


def test_pause_of_this_process_is_forgiven():
    """Time in which this process did not run counts neither as waiting nor as the others' silence."""
    liveness = waiting()
    liveness.heard(0, 1, 1.0)
    liveness.forgive(20.0)
    assert liveness.silent_ranks(26.0) == []
    assert not liveness.is_stuck(20.5)
    assert liveness.silent_ranks(26.5) == [2, 3]
    assert liveness.silent_ranks(27.5) == [0, 2, 3]
    liveness.rest()
    liveness.forgive(5.0)
    assert not liveness.is_stuck(1000.0)


@pytest.mark.parametrize(
    ("silent", "who", "why"),
    [
        ([2, 3], "from node 1;", "no longer connect node 1 with nodes 0, 2"),
        ([0, 1, 4, 5], "from nodes 0, 2;", "no longer connect nodes 0, 2 with node 1"),
        ([3], "from rank 3 (node 1 rail 1);", "its process may be stopped"),
        (
            [0, 1, 3],
            "rank 0 (node 0 rail 0), rank 1 (node 0 rail 1), rank 3",
            "their processes may be stopped",
        ),
    ],
)
def test_message_names_nodes_or_ranks(silent, who, why):
    """Nodes that are silent as a whole are named as nodes, single ranks as ranks that may be stopped."""
    text = describe(silent, 3, 2, 10.0)
    assert "no answer by any route for 10 s" in text
    assert who in text
    assert why in text


@given(st.lists(st.integers(0, 11), unique=True), st.integers(1, 4))
def test_nodes_of_ranks(ranks, rails):
    """Each rank's node is listed once, ascending."""
    assert nodes_of(ranks, rails) == sorted({rank // rails for rank in ranks})
