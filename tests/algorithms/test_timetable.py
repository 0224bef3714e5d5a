from __future__ import annotations

import pytest

from algorithms import verify
from algorithms.collective import allreduce
from algorithms.schedule import ScheduleError
from algorithms.timetable import Timetable


def two_nodes(first, second):
    """An allreduce of two nodes whose two transfers are planned for these times."""
    timetable = Timetable(2, grid=3)
    timetable.add(at=second, stage="back", source=1, target=0, lo=0, hi=3, reduce=False)
    timetable.add(at=first, stage="there", source=0, target=1, lo=0, hi=3, reduce=True, rails=[1])
    return timetable.build(allreduce(2, 3))


def test_transfers_are_in_the_order_of_their_times():
    """What was added last comes first if it is planned to; labels and rails go with it."""
    schedule = two_nodes(first=5, second=6)
    assert [str(one) for one in schedule] == [
        "transfer 0 (there): node 0 -> node 1, reduce [0, 3), rails [1]",
        "transfer 1 (back): node 1 -> node 0, copy [0, 3)",
    ]
    verify.check(schedule)


def test_of_equal_times_the_first_added_goes_first():
    """Also where that is wrong, as the oracle then says."""
    with pytest.raises(ScheduleError, match=r"\(there\).*counted twice, of nodes 1"):
        verify.check(two_nodes(first=5, second=5))


def test_arrays_and_single_numbers_mix():
    """An int counts for every transfer of a call, and the times sort across calls."""
    timetable = Timetable(4, grid=3)
    timetable.add(at=[30, 10, 20], stage="a", source=3, target=[0, 1, 2], lo=0, hi=[1, 2, 3], reduce=True)
    timetable.add(at=15, stage="b", source=[0, 1], target=2, lo=0, hi=3, reduce=False)
    schedule = timetable.build(allreduce(4, 3))
    assert [(one.stage, one.source, one.target) for one in schedule] == [
        ("a", 3, 1),
        ("b", 0, 2),
        ("b", 1, 2),
        ("a", 3, 2),
        ("a", 3, 0),
    ]


def test_no_transfer_at_all():
    """An empty timetable is an empty schedule."""
    assert len(Timetable(1, grid=1).build(allreduce(1, 1))) == 0


def test_a_malformed_transfer_is_named():
    """A node that does not exist is refused when the schedule is made."""
    timetable = Timetable(2, grid=1)
    timetable.add(at=0, stage="a", source=0, target=2, lo=0, hi=1, reduce=True)
    with pytest.raises(ScheduleError, match=r"node 0 -> node 2.*has a node outside 0..1"):
        timetable.build(allreduce(2, 1))
