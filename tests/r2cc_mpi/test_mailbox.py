from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Hop, Nic
from r2cc_mpi.mailbox import CONTROL_SLOTS, Inbox, Outbox, Ring
from r2cc_mpi.protocol.buffers import BufferPool
from r2cc_mpi.protocol.header import HEADER_BYTES, Header, Kind, pack
from r2cc_mpi.protocol.network import Message
from tests.r2cc_mpi.fakes import chunk, control, words

PAYLOAD, CHUNK_SLOTS = 48, 8
HEAD = pack(Header(Kind.PING, Nic(0, 0), 0, (Hop(0, 1),)))


def no_fence():
    """Order nothing: one process sees its own writes in order."""


def ring(slots, shared, first=0, fence=no_fence):
    """Make a ring in memory of its own."""
    return Ring(np.zeros((slots, HEADER_BYTES + PAYLOAD), np.uint8), shared, first, fence)


def payload_of(slot, length):
    """Read the bytes behind the header."""
    return slot[HEADER_BYTES : HEADER_BYTES + length].tobytes()


class Mailbox:
    """Both ends of one direction between two ranks."""

    def __init__(self):
        shared = words(4)
        chunks, controls = ring(CHUNK_SLOTS, shared), ring(CONTROL_SLOTS, shared, 2)
        self.pool = BufferPool(PAYLOAD)
        self.outbox = Outbox(chunks, controls)
        self.inbox = Inbox(chunks, controls, self.pool)


def with_payload(number, length):
    """Make a chunk whose bytes are all its number."""
    message = chunk(length, number=number)
    message.buffer.payload[:] = number
    return message


def bytes_of(message, length):
    """List the first bytes of a chunk."""
    return message.buffer.payload[:length].tolist()


def test_ring_passes_messages_in_order():
    """What was put comes out once, in order, header and payload."""
    shared = ring(3, words(2))
    assert shared.front() is None
    for text in (b"one", b"two"):
        assert shared.put(HEAD, text)
    for text in (b"one", b"two"):
        slot = shared.front()
        assert slot is not None
        assert slot[:HEADER_BYTES].tobytes() == HEAD
        assert payload_of(slot, 3) == text
        shared.release()
    assert shared.front() is None


def test_full_ring_refuses():
    """A ring takes as many messages as it has slots; the next one is refused and changes nothing."""
    shared = ring(2, words(2))
    assert [shared.put(HEAD, text) for text in (b"a", b"b", b"c")] == [True, True, False]
    assert payload_of(shared.front(), 1) == b"a"
    shared.release()
    assert shared.put(HEAD, b"d")
    assert payload_of(shared.front(), 1) == b"b"


@given(st.lists(st.booleans(), max_size=200), st.integers(1, 5))
def test_ring_is_a_queue_of_its_length(puts, slots):
    """Whatever the order of puts and takes, a ring does what a bounded queue does."""
    shared = ring(slots, words(2))
    queue: list[int] = []
    for number, is_put in enumerate(puts):
        if is_put:
            taken = shared.put(HEAD, bytes([number % 256]))
            assert taken == (len(queue) < slots)
            queue += [number % 256] if taken else []
        elif queue:
            slot = shared.front()
            assert slot is not None
            assert slot[HEADER_BYTES] == queue.pop(0)
            shared.release()
        else:
            assert shared.front() is None


def test_rings_on_the_same_words_do_not_meet():
    """Two rings beside each other use two words each."""
    shared = words(4)
    first, second = ring(2, shared), ring(2, shared, 2)
    first.put(HEAD, b"a")
    assert second.front() is None
    second.put(HEAD, b"b")
    second.release()
    assert payload_of(first.front(), 1) == b"a"
    assert list(shared) == [1, 0, 1, 1]


def test_payload_is_fenced_from_its_word():
    """A word changes only after a fence behind the bytes it speaks of, and bytes are touched only after one.

    The fence looks at the slot and the words: at the last fence of a put the payload is there and the word is
    not, at the fence of a read the word is seen before the slot is, at that of a release it still counts.
    """
    shared, seen = words(2), []
    slots = np.zeros((1, HEADER_BYTES + PAYLOAD), np.uint8)
    fenced = Ring(slots, shared, 0, lambda: seen.append((int(slots[0, HEADER_BYTES]), *shared)))
    fenced.put(HEAD, b"\7")
    assert seen == [(0, 0, 0), (7, 0, 0)]
    fenced.front()
    fenced.release()
    assert seen[2:] == [(7, 1, 0), (7, 1, 0)]
    assert list(shared) == [1, 1]


def test_chunks_and_controls_arrive_as_they_were():
    """Headers, bodies and payloads come out as they were put in."""
    box = Mailbox()
    note = Message(Header(Kind.NEWS, Nic(0, 1), 0, length=4), b"news")
    for message in (with_payload(5, 30), note):
        assert box.outbox.put(message)
    first, second = box.inbox.take_all()
    assert first == note
    assert second.header == with_payload(5, 30).header
    assert bytes_of(second, 30) == [5] * 30
    assert box.inbox.take_all() == []


def test_control_never_waits_behind_chunks():
    """With every chunk slot taken a control message still passes, and comes out first."""
    box = Mailbox()
    for number in range(CHUNK_SLOTS):
        assert box.outbox.put(with_payload(number, 8))
    assert box.outbox.put(control(99))
    assert [message.header.sequence for message in box.inbox.take_all()] == [99, *range(CHUNK_SLOTS)]


def test_chunk_without_a_slot_is_refused():
    """A chunk that finds no slot is refused at once and not kept."""
    box = Mailbox()
    for number in range(CHUNK_SLOTS):
        box.outbox.put(with_payload(number, 8))
    assert not box.outbox.put(with_payload(50, 8))
    box.inbox.take_all()
    box.outbox.flush()
    assert box.inbox.take_all() == []


def test_control_without_a_slot_is_kept():
    """A control message that finds no slot waits in private memory, and order is kept."""
    box = Mailbox()
    count = 2 * CONTROL_SLOTS + 3
    for number in range(count):
        assert box.outbox.put(control(number))
    taken = []
    while messages := box.inbox.take_all():
        taken += [message.header.sequence for message in messages]
        box.outbox.flush()
    assert taken == list(range(count))


def test_later_control_does_not_overtake_a_kept_one():
    """While one message waits for a slot, those after it wait too, also if a slot becomes free."""
    box = Mailbox()
    for number in range(CONTROL_SLOTS + 1):
        box.outbox.put(control(number))
    first = [message.header.sequence for message in box.inbox.take_all()]
    box.outbox.put(control(77))
    rest = [message.header.sequence for message in box.inbox.take_all()]
    assert first + rest == [*range(CONTROL_SLOTS + 1), 77]


def test_chunks_are_taken_into_private_memory():
    """What was taken out does not change when its slot is used again."""
    box = Mailbox()
    box.outbox.put(with_payload(1, 8))
    (taken,) = box.inbox.take_all()
    for number in range(2, 2 + CHUNK_SLOTS):
        box.outbox.put(with_payload(number, 8))
    assert bytes_of(taken, 8) == [1] * 8


def test_sender_may_change_its_buffer_at_once():
    """A hand-over copies: the sender's buffer is free when `put` returns."""
    box = Mailbox()
    message = with_payload(1, 8)
    box.outbox.put(message)
    message.buffer.payload[:] = 200
    (taken,) = box.inbox.take_all()
    assert bytes_of(taken, 8) == [1] * 8


@pytest.mark.parametrize("length", [0, 1, PAYLOAD])
def test_any_length_that_fits(length):
    """A payload may be empty and may fill its slot."""
    box = Mailbox()
    assert box.outbox.put(with_payload(3, length))
    (taken,) = box.inbox.take_all()
    assert bytes_of(taken, length) == [3] * length
