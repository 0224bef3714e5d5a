from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from r2cc_mpi import virtual_rail
from r2cc_mpi.virtual_rail import from_stamp, to_stamp
from tests.r2cc_mpi.fakes import RATE, FakeMpiRail, chunk, control, make_nic, make_pair, numbers, times_of


@pytest.fixture
def pair():
    """Two NICs of one rail, that of node 0 and that of node 1, on one fake MPI."""
    return make_pair()


def test_unpaced_rail_passes_at_once():
    """Without a rate a chunk leaves and arrives at the very time it is given, without another look."""
    source, target = make_pair(None)
    source.send(1, chunk(10**9), 5.0)
    assert source.next_due() is None
    assert numbers(target.poll(5.0)) == [0]


def test_unpaced_rail_that_is_to_fail_waits_for_a_look():
    """A fault may strike whenever a chunk leaves, which must not happen in the middle of sending it."""
    source, target = make_pair(None)
    source.on_sent = lambda _now: None
    source.send(1, chunk(10**9), 5.0)
    assert source.next_due() == 5
    assert target.poll(5.0) == []
    assert source.poll(5.0) == []
    assert numbers(target.poll(5.0)) == [0]


def test_chunks_leave_one_after_the_other(pair):
    """Chunks leave at the rate, to the exact time, and not a moment earlier."""
    source, target = pair
    for number in range(3):
        source.send(1, chunk(1000, number=number), 0.0)
    arrived = {}
    for tenth in range(1, 40):
        now = tenth / 10
        assert source.next_due() == (tenth + 9) // 10 if tenth <= 30 else source.next_due() is None
        source.poll(now)
        for number in numbers(target.poll(now)):
            arrived[number] = now
    assert times_of(source) == [1, 2, 3]
    assert arrived == {0: 1, 1: 2, 2: 3}


def test_late_process_does_not_stretch_time(pair):
    """A process that looks late sends what was due, dated as if it had been in time."""
    source, target = pair
    for number in range(3):
        source.send(1, chunk(1000, number=number), 0.0)
    source.poll(10.0)
    assert times_of(source) == [1, 2, 3]
    assert numbers(target.poll(10.0)) == [0, 1, 2]


def test_first_in_program_order_goes_first(pair):
    """What waits when the port is free goes by its place; the chunk on the wire stays, later ones wait."""
    source, _ = pair
    for number, place in enumerate([(1, 5), (1, 8), (1, 6), (2, 0)]):
        source.send(1, chunk(1000, number=number)._replace(place=place), 0.0)
    source.poll(0.5)
    source.send(1, chunk(1000, number=4)._replace(place=(1, 1)), 0.5)
    source.send(1, chunk(1000, number=5)._replace(place=(1, 0)), 2.5)
    source.poll(10.0)
    assert [message.header.sequence for _, message, _ in source._rail.sent] == [0, 4, 2, 5, 1, 3]
    assert times_of(source) == [1, 2, 3, 4, 5, 6]


def test_chunk_that_only_passes_through_goes_first(pair):
    """It waited at home already; of several the first to come goes first."""
    source, _ = pair
    for number in range(3):
        source.send(1, chunk(1000, number=number)._replace(place=(1, number)), 0.0)
    source.poll(0.5)
    for number in (3, 4):
        source.send(1, chunk(1000, number=number), 0.5)
    source.poll(10.0)
    assert [message.header.sequence for _, message, _ in source._rail.sent] == [0, 3, 4, 1, 2]


def test_idle_time_banks_no_credit(pair):
    """After a long pause the first chunk takes its full time again."""
    source, _ = pair
    source.send(1, chunk(1000), 0.0)
    source.poll(1.0)
    for number in (1, 2):
        source.send(1, chunk(1000, number=number), 100.0)
    source.poll(100.9)
    assert times_of(source) == [1]
    source.poll(200.0)
    assert times_of(source) == [1, 101, 102]


def test_slowed_rail_takes_longer(pair):
    """At a tenth of the rate a chunk takes ten times as long; the factor counts when it leaves."""
    source, _ = pair
    source.factor = 0.1
    source.send(1, chunk(1000), 0.0)
    assert source.next_due() == 10
    source.factor = 0.5
    source.poll(10.0)
    assert times_of(source) == [2]


def test_slow_receiver_delays_arrival(pair):
    """A slowed NIC also receives more slowly."""
    source, target = pair
    target.factor = 0.25
    source.send(1, chunk(1000), 0.0)
    source.poll(1.0)
    assert target.poll(3.999) == []
    assert target.next_due() == 4
    assert numbers(target.poll(4.0)) == [0]


def test_hosts_with_clocks_of_their_own():
    """Where clocks cannot be compared a chunk counts as sent when it arrives, whatever its stamp says."""
    source, target = make_pair(RATE, common_clock=False)
    for number in range(2):
        source.send(1, chunk(1000, number=number), 5000.0)
    source.poll(5002.0)
    assert numbers(target.poll(7.0)) == [0]
    assert target.next_due() == 8
    assert numbers(target.poll(8.0)) == [1]


def test_incast_shares_the_receive_rate():
    """Two senders at full rate take twice as long to get everything into one NIC, whatever the order."""
    receiver = FakeMpiRail(2)
    target = make_nic(receiver)
    for node in (0, 1):
        end = FakeMpiRail(node)
        end.peer = receiver
        source = make_nic(end)
        for number in range(2):
            source.send(2, chunk(1000, number=10 * node + number), 0.0)
        source.poll(2.0)
    arrived = {now: numbers(target.poll(now)) for now in (0.5, 1.0, 2.0, 3.0, 3.9, 4.0, 5.0)}
    assert arrived == {0.5: [], 1.0: [0], 2.0: [1], 3.0: [10], 3.9: [], 4.0: [11], 5.0: []}


def test_directions_do_not_share_a_rate(pair):
    """A NIC sends at full rate while it receives at full rate."""
    one, other = pair
    one.send(1, chunk(1000), 0.0)
    other.send(0, chunk(1000, number=1), 0.0)
    one.poll(1.0)
    assert numbers(other.poll(1.0)) == [0]
    assert numbers(one.poll(1.0)) == [1]


def test_control_messages_overtake(pair):
    """A control message does not wait behind chunks, and is not paced."""
    source, target = pair
    source.send(1, chunk(1000), 0.0)
    source.send(1, control(7), 0.0)
    assert numbers(target.poll(0.0)) == [7]


def test_counters_are_exact(pair):
    """Bytes and chunks are counted when they pass, by collective, and control messages apart."""
    source, target = pair
    for length, collective in ((1000, 1), (500, 2), (250, 2)):
        source.send(1, chunk(length, collective=collective), 0.0)
    source.send(1, control(), 0.0)
    source.poll(1.5)
    target.poll(1.25)
    assert (source.counters.sent_bytes, source.counters.sent_chunks, source.counters.sent_controls) == (
        1500,
        2,
        1,
    )
    assert source.counters.by_collective == {1: [1000, 0], 2: [500, 0]}
    assert (target.counters.received_bytes, target.counters.by_collective) == (1000, {1: [0, 1000]})
    source.poll(9.0)
    target.poll(9.0)
    assert target.counters.by_collective == {1: [0, 1000], 2: [0, 750]}
    assert target.counters.sent_bytes == 0


def test_counters_forget_the_oldest_collectives(pair, monkeypatch):
    """Only the latest collectives are kept, so that a long job does not grow."""
    monkeypatch.setattr(virtual_rail, "KEPT_COLLECTIVES", 2)
    source, _ = pair
    for collective in range(1, 5):
        source.send(1, chunk(1, collective=collective), 0.0)
    source.poll(1.0)
    assert list(source.counters.by_collective) == [3, 4]
    assert source.counters.sent_bytes == 4


def test_buffer_is_pending_until_mpi_is_done(pair):
    """A chunk's buffer counts as in use from the moment it is queued until MPI completes its send."""
    source, _ = pair
    message = chunk(1000)
    source.send(1, message, 0.0)
    assert (message.buffer.pending, source.is_idle_towards([1])) == (1, False)
    source.poll(1.0)
    assert (message.buffer.pending, source.is_idle_towards([1])) == (1, False)
    source._rail.complete()
    assert (message.buffer.pending, source.is_idle_towards([1])) == (0, True)


@given(st.integers(0, 10**12), st.integers(-1_700_000_000, 1_700_000_000))
def test_stamps_survive_their_short_range(now_us, distance_us):
    """A time within half an hour of now is read back to the microsecond, also where 32 bits wrap around."""
    now, time_us = now_us / 1e6, now_us + distance_us
    read = from_stamp(to_stamp(time_us / 1e6), now)
    assert abs(read - time_us / 1e6) <= 2e-6


def test_stamp_too_far_away_is_misread():
    """A time more than 36 minutes away is read as another one: nothing on a rail is that old."""
    assert from_stamp(to_stamp(3000.0), 0.0) < 0
