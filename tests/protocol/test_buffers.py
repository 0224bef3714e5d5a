from __future__ import annotations

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from r2cc_mpi.protocol.buffers import Buffer, BufferPool
from r2cc_mpi.protocol.header import HEADER_BYTES


def test_payload_lies_behind_the_header():
    """A buffer is 64 bytes of header and the payload, in one piece of memory."""
    buffer = Buffer(48)
    buffer.raw[:] = 0
    buffer.payload[:] = 7
    assert buffer.raw.tolist() == [0] * HEADER_BYTES + [7] * 48
    assert buffer.raw.flags.c_contiguous


def test_a_buffer_without_pending_sends_is_used_again():
    """What is given back with no send pending is what the next one gets."""
    pool = BufferPool(16)
    buffer = pool.take()
    assert len(buffer.payload) == 16
    pool.give_back(buffer)
    assert pool.quarantined == 0
    assert pool.take() is buffer
    assert pool.take() is not buffer


def test_a_buffer_with_pending_sends_waits_in_quarantine():
    """A buffer that a send may still read is not given out, however often the pool is swept."""
    pool = BufferPool(16)
    buffer = pool.take()
    buffer.pending = 2
    pool.give_back(buffer)
    for pending in (2, 1):
        buffer.pending = pending
        pool.sweep()
        assert pool.quarantined == 1
        assert pool.take() is not buffer
    buffer.pending = 0
    pool.sweep()
    assert pool.quarantined == 0
    assert pool.take() is buffer


class PoolMachine(RuleBasedStateMachine):
    """Take, send, complete, give back and sweep in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.pool = BufferPool(8)
        self.used: list[Buffer] = []
        self.sending: list[Buffer] = []

    @rule()
    def take(self):
        """Nobody else uses what is taken, and no send reads it."""
        buffer = self.pool.take()
        assert buffer.pending == 0
        assert all(buffer is not other for other in self.used)
        self.used.append(buffer)

    @precondition(lambda self: self.used)
    @rule()
    def send(self):
        """A send begins to read a buffer."""
        self.used[-1].pending += 1
        self.sending.append(self.used[-1])

    @precondition(lambda self: self.sending)
    @rule()
    def complete(self):
        """The oldest send completes."""
        self.sending.pop(0).pending -= 1

    @precondition(lambda self: self.used)
    @rule()
    def give_back(self):
        """A chunk is no longer needed."""
        self.pool.give_back(self.used.pop())

    @rule()
    def sweep(self):
        """Buffers leave the quarantine."""
        self.pool.sweep()

    @invariant()
    def quarantine_is_bounded_by_sends(self):
        """No more buffers are kept aside than were given back while a send read them."""
        assert self.pool.quarantined <= len({id(buffer) for buffer in self.pool._quarantine})


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=40, deadline=None)
