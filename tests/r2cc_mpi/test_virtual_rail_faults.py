from __future__ import annotations

import pytest

from tests.r2cc_mpi.fakes import chunk, control, make_pair, numbers, times_of


@pytest.fixture
def pair():
    """Two NICs of one rail, that of node 0 and that of node 1, on one fake MPI."""
    return make_pair()


def test_lossy_rail_forgets(pair):
    """A NIC that dies lossy loses what it queued, what it was receiving, and all that is sent meanwhile."""
    source, target = pair
    first, queued = chunk(1000), chunk(1000, number=1)
    source.send(1, first, 0.0)
    source.send(1, queued, 0.0)
    source.poll(1.0)
    target.factor = 0.5  # so that the first chunk is still on its way in
    assert target.poll(1.0) == []
    source.die(late=False)
    target.die(late=False)
    assert queued.buffer.pending == 0
    assert target._rail.returned == [first.buffer]
    source.send(1, chunk(1000, number=2), 1.0)
    source.send(1, control(3), 1.0)
    source._rail.send(1, chunk(1000, number=4), 0)  # from a node that does not know yet
    source._rail.send(1, control(5), 0)
    assert target.poll(2.0) == []
    assert len(target._rail.returned) == 2
    source.revive(3.0)
    target.revive(3.0)
    assert source.poll(9.0) == []
    assert target.poll(9.0) == []
    assert (target.counters.received_bytes, source.next_due(), target.next_due()) == (0, None, None)


def test_lossy_rail_works_again(pair):
    """A NIC that came back sends and receives like a new one, without credit for the time it was down."""
    source, target = pair
    for end in pair:
        end.die(late=False)
        end.revive(50.0)
    source.send(1, chunk(1000), 50.0)
    source.poll(51.0)
    assert times_of(source) == [51]
    assert numbers(target.poll(51.0)) == [0]


def test_late_rail_keeps_what_it_sends(pair):
    """A NIC that dies late sends what was queued, and what was given to it meanwhile, once it is back."""
    source, target = pair
    source.send(1, chunk(1000), 0.0)
    source.die(late=True)
    source.send(1, chunk(1000, number=1), 2.0)
    source.send(1, control(2), 2.0)
    assert source.poll(20.0) == []
    assert source._rail.sent == []
    assert source.next_due() is None
    source.revive(30.0)
    source.poll(40.0)
    assert numbers(target.poll(40.0)) == [2, 0, 1]
    assert times_of(source) == [30, 31, 32]


def test_late_rail_keeps_what_it_receives_in_order(pair):
    """A NIC that dies late takes in what was on its way once it is back, in the order it was sent."""
    source, target = pair
    target.factor = 0.5
    for number in range(3):
        source.send(1, chunk(1000, number=number), 0.0)
    source.poll(1.0)
    assert target.poll(1.0) == []  # chunk 0 is half-way in
    target.die(late=True)
    source.poll(3.0)
    source.send(1, control(9), 3.0)
    assert target.poll(3.0) == []
    assert target.next_due() is None
    assert target.counters.received_bytes == 0
    target.revive(20.0)
    arrived = numbers(target.poll(20.0))
    assert [number for number in arrived if number != 9] == [0, 1, 2]
    assert 9 in arrived
    assert target.counters.received_bytes == 3000


def test_revival_of_a_living_rail_changes_nothing(pair):
    """To revive a NIC that is not dead does not delay what it sends."""
    source, _ = pair
    source.send(1, chunk(1000), 0.0)
    source.revive(50.0)
    source.poll(60.0)
    assert times_of(source) == [1]


def test_fault_may_strike_between_two_chunks(pair):
    """A rail that dies when a chunk has left sends nothing after it, even if more is due."""
    source, target = pair
    seen = []

    def die(now):
        seen.append(now)
        if source.counters.sent_chunks == 2:
            source.die(late=False)

    source.on_sent = die
    for number in range(4):
        source.send(1, chunk(1000, number=number), 0.0)
    source.poll(10.0)
    assert numbers(target.poll(10.0)) == [0, 1]
    assert seen == [10, 10]
