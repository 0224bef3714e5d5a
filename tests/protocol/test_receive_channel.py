from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.channel import ReceiveChannel, SendChannel
from r2cc_mpi.protocol.header import Flag, Header, Kind
from tests.protocol.fakes import buffer, chunk, data

WINDOW = 3


def test_expected_chunk_lands():
    """The chunk that is expected is kept and an acknowledgement is due."""
    channel = ReceiveChannel()
    held = buffer()
    assert channel.ack_flags is None
    assert channel.arrive(data(0), held)
    assert channel.expected == 1
    assert channel.ack_flags is Flag.NONE
    front = channel.front()
    assert front is not None
    assert (front.buffer, front.length, front.collective) == (held, 8, 1)


def test_duplicate_is_dropped_and_acknowledged_again():
    """A chunk that has landed is dropped; its sender may not have heard, so it is told again."""
    channel = ReceiveChannel()
    channel.arrive(data(0), buffer())
    channel.ack_flags = None
    assert not channel.arrive(data(0), buffer())
    assert channel.expected == 1
    assert channel.ack_flags is Flag.NONE


def test_gap_is_dropped_and_reported_once():
    """A chunk behind a missing one is dropped. The gap is reported once, not for each chunk behind it."""
    channel = ReceiveChannel()
    assert not channel.arrive(data(1), buffer())
    assert channel.expected == 0
    assert channel.ack_flags == Flag.GAP
    channel.ack_flags = None
    assert not channel.arrive(data(2), buffer())
    assert channel.ack_flags is Flag.NONE


def test_same_gap_is_reported_again_after_a_rewind():
    """If the missing chunk is lost once more, its sender must hear of it once more."""
    channel = ReceiveChannel()
    channel.arrive(data(1), buffer())
    channel.ack_flags = None
    channel.arrive(data(1, generation=1), buffer())
    assert channel.ack_flags == Flag.GAP


def test_next_gap_is_reported():
    """Another chunk that is missing later is another gap."""
    channel = ReceiveChannel()
    channel.arrive(data(1), buffer())
    channel.arrive(data(0), buffer())
    channel.ack_flags = None
    channel.arrive(data(2), buffer())
    assert channel.ack_flags == Flag.GAP


def test_flags_wait_for_the_next_acknowledgement():
    """A gap and a ping that come before the acknowledgement is sent are both in it."""
    channel = ReceiveChannel()
    channel.arrive(data(1), buffer())
    channel.ping(Header(Kind.PING, data(0).origin, 0, (Hop(0, 1),)))
    channel.arrive(data(0), buffer())
    assert channel.ack_flags == Flag.GAP | Flag.PONG


def test_chunks_are_consumed_in_order():
    """The front chunk is the oldest; consuming it returns its buffer and makes an acknowledgement due."""
    channel = ReceiveChannel()
    buffers = [buffer(), buffer()]
    for number, held in enumerate(buffers):
        channel.arrive(data(number), held)
    channel.ack_flags = None
    assert [channel.consume(), channel.consume()] == buffers
    assert channel.consumed == 2
    assert channel.ack_flags is Flag.NONE
    assert channel.front() is None


def test_acknowledgements_go_back_along_the_newest_route():
    """The receiver remembers the header that came last, also of a dropped chunk, and of a ping."""
    channel = ReceiveChannel()
    newest = data(5)
    channel.arrive(newest, buffer())
    assert channel.last is newest
    ping = Header(Kind.PING, newest.origin, 0, (Hop(1, 1),))
    channel.ping(ping)
    assert channel.last is ping


ACTIONS = st.lists(
    st.sampled_from(["capture", "send", "deliver", "lose", "repeat", "ack", "rewind", "consume"])
)


@given(ACTIONS)
def test_stream_arrives_exactly_once_and_in_order(actions):
    """Whatever is lost, repeated or rewound, each chunk is consumed once and in order."""
    source, target = SendChannel(1, WINDOW), ReceiveChannel()
    flying: deque[tuple[Header, bytes]] = deque()
    consumed = []
    # In the end everything is sent again and arrives: the stream must recover from any state.
    for action in [*actions, *(["rewind"] + ["send", "deliver", "consume", "ack"] * WINDOW) * 2]:
        following = source.next_chunk()
        if action == "capture" and source.has_room:
            source.capture(chunk(bytes([source.captured % 256] * 8)), 0.0)
        elif action == "send" and following is not None:
            number, sent = following
            flying.append((data(number, generation=source.generation), sent.buffer.payload[:8].tobytes()))
            source.was_sent()
        elif action == "deliver" and flying:
            header, content = flying.popleft()
            target.arrive(header, buffer(content))
        elif action == "lose" and flying:
            flying.popleft()
        elif action == "repeat" and flying:
            flying.append(flying[0])
        elif action == "ack":
            source.acknowledge(target.expected, target.consumed, 0.0)
        elif action == "rewind":
            flying.clear()
            assert source.rewind() <= WINDOW
        elif action == "consume" and target.front() is not None:
            consumed.append(target.consume().payload[0])
        assert source.consumed <= source.landed <= source.sent <= source.captured <= source.consumed + WINDOW
        assert target.expected - target.consumed <= WINDOW
    assert consumed == [number % 256 for number in range(source.captured)]
    assert source.is_consumed


def test_late_chunk_does_not_hide_a_gap_report():
    """A chunk from before a rewind leaves the acknowledgement with the newest generation and its gap."""
    channel = ReceiveChannel()
    origin, route = Nic(0, 0), (Hop(0, 1),)
    newest = Header(Kind.DATA, origin, 0, route, generation=1, sequence=2)
    channel.arrive(newest, buffer())
    channel.arrive(newest._replace(generation=0), buffer())
    assert (channel.last, channel.ack_flags) == (newest, Flag.GAP)
    wrapped = newest._replace(generation=0, sequence=3)
    channel.last = newest._replace(generation=65535)
    channel.arrive(wrapped, buffer())
    assert channel.last == wrapped


def test_one_acknowledgement_serves_several_chunks():
    """In-order chunks wait for company; what has been told needs no second acknowledgement."""
    channel = ReceiveChannel(chunks_per_ack=2)
    channel.arrive(data(0), buffer())
    assert not channel.is_ack_due
    channel.arrive(data(1), buffer())
    assert channel.is_ack_due
    channel.was_acknowledged()
    assert not channel.is_ack_due
    channel.consume()
    assert not channel.is_ack_due
    channel.consume()
    assert channel.is_ack_due


def test_what_is_odd_is_answered_at_once():
    """A repeated chunk, a gap, a question and a repair do not wait."""
    for odd in (lambda c: c.arrive(data(0), buffer()), lambda c: c.arrive(data(5), buffer())):
        channel = ReceiveChannel(chunks_per_ack=4)
        channel.arrive(data(0), buffer())
        channel.was_acknowledged()
        odd(channel)
        assert channel.is_ack_due
    channel.was_acknowledged()
    channel.repeat()
    assert channel.is_ack_due


def test_hurry_ends_the_wait_for_company():
    """At the end of a collective a single chunk is acknowledged; where nothing came nothing is said."""
    channel = ReceiveChannel(chunks_per_ack=4)
    channel.hurry()
    channel.arrive(data(0), buffer())
    assert not channel.is_ack_due
    channel.hurry()
    assert channel.is_ack_due
