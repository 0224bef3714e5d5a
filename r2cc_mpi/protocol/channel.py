"""Channels: reliable, ordered streams of chunks from one node to another, one for each home rail.

The sender numbers its chunks; numbers never start over. A chunk is *captured* (copied from the node buffer),
*sent*, *landed* (arrived in order) and *consumed* (applied to the target's node buffer). The receiver takes
exactly the chunk it expects and drops every other, so each chunk is applied once, whatever the network
repeats or delays. A landing slot and a credit belong to one channel alone, so channels cannot block each
other.

A channel knows nothing of failures. Repair means that somebody gives it another route and calls
:meth:`SendChannel.rewind`.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from algorithms.nic import Route
from r2cc_mpi.protocol.buffers import Buffer
from r2cc_mpi.protocol.header import Flag, Header

GENERATIONS = 1 << 16
"""Generations are counted modulo this, as the header has two bytes for them."""


class Chunk(NamedTuple):
    """A chunk in a slot: its bytes, how many of them count, and the collective it belongs to.

    `place` is where it stands in the program order of the node that captured it.
    """

    buffer: Buffer
    length: int
    collective: int
    place: int = 0


class SendChannel:
    """The sending end.

    Args:
        target: Node that receives.
        window: Most chunks captured and not yet consumed.

    Attributes:
        route: The way the chunks take now; None while no route is known.
        captured: Chunks captured so far, which is the next chunk's number.
        sent: Next chunk to be sent; a rewind sets it back.
        landed: Chunks that the receiver has.
        consumed: Chunks that the receiver has applied.
        progress_at: When the receiver last moved on, or the channel became busy, seconds.
        resent_bytes: Payload bytes sent again so far.
    """

    def __init__(self, target: int, window: int) -> None:
        self.target, self.window = target, window
        self.route: Route | None = None
        self.captured = self.sent = self.landed = self.consumed = 0
        self.generation = 0
        self.progress_at = 0.0
        self.pings = 0
        self.pinged_at = 0.0
        self.resent_bytes = 0
        self._high_water = 0
        self._slots: dict[int, Chunk] = {}

    @property
    def has_room(self) -> bool:
        """Whether another chunk may be captured."""
        return self.captured < self.consumed + self.window

    @property
    def is_settled(self) -> bool:
        """Whether the receiver has every chunk that was sent."""
        return self.landed == self.sent

    @property
    def is_consumed(self) -> bool:
        """Whether the receiver has applied every captured chunk."""
        return self.consumed == self.captured

    def capture(self, chunk: Chunk, now: float) -> None:
        """Take a chunk into the next slot; the caller has checked :attr:`has_room`."""
        if self.is_consumed:
            self.progress_at = now
        self._slots[self.captured] = chunk
        self.captured += 1

    def next_chunk(self) -> tuple[int, Chunk] | None:
        """Return the next chunk to send with its number, or None when all are sent."""
        return (self.sent, self._slots[self.sent]) if self.sent < self.captured else None

    def replace_buffer(self, number: int, buffer: Buffer) -> None:
        """Put a chunk's bytes into another buffer, because a send of the first one is still pending."""
        self._slots[number] = self._slots[number]._replace(buffer=buffer)

    def was_sent(self) -> None:
        """Note that the chunk of :meth:`next_chunk` is on its way."""
        if self.sent < self._high_water:
            self.resent_bytes += self._slots[self.sent].length
        self.sent += 1
        self._high_water = max(self._high_water, self.sent)

    def acknowledge(self, landed: int, consumed: int, now: float) -> list[Buffer]:
        """Take an acknowledgement; older ones change nothing.

        Returns:
            Buffers of the chunks that have now landed.
        """
        if landed > self.landed or consumed > self.consumed:
            self.progress_at = now
            self.pings = 0
        done = [self._slots.pop(number).buffer for number in range(self.landed, landed)]
        self.landed = max(self.landed, landed)
        self.consumed = max(self.consumed, consumed)
        self.sent = max(self.sent, self.landed)
        return done

    def rewind(self) -> int:
        """Go back to the first chunk that has not landed.

        Returns:
            Number of chunks that will be sent again; never more than the window.
        """
        again = self.sent - self.landed
        self.sent = self.landed
        self.generation = (self.generation + 1) % GENERATIONS
        return again

    def bytes_on_their_way(self) -> int:
        """Payload bytes that were sent and have not landed."""
        return sum(self._slots[number].length for number in range(self.landed, self.sent))

    def local_sends_pending(self) -> bool:
        """Say whether this rank's own NIC still holds one of the chunks on their way."""
        return any(self._slots[number].buffer.pending for number in range(self.landed, self.sent))


class ReceiveChannel:
    """The receiving end.

    While chunks come in order an acknowledgement is due for every few of them; what is odd (a gap, a repeated
    chunk, a question) is answered at once. The engine sees to it that none is held back for long.

    Args:
        chunks_per_ack: Chunks landed, or consumed, for which one acknowledgement is enough.

    Attributes:
        expected: Chunks landed so far, which is the number of the one expected.
        consumed: Chunks handed to the executor and applied.
        ack_flags: What the next acknowledgement must say, or None when there is nothing to say.
        last: Header of the newest chunk or ping, by generation; acknowledgements go back along its route.
    """

    def __init__(self, chunks_per_ack: int = 1) -> None:
        self._chunks_per_ack = chunks_per_ack
        self._told_landed = self._told_consumed = 0
        self._is_urgent = False
        self.expected = self.consumed = 0
        self.ack_flags: Flag | None = None
        self.last: Header | None = None
        self._landing: deque[Chunk] = deque()
        self._gap_reported: tuple[int, int] | None = None

    @property
    def is_ack_due(self) -> bool:
        """Whether an acknowledgement should be sent now."""
        return self.ack_flags is not None and (
            self._is_urgent
            or self.expected >= self._told_landed + self._chunks_per_ack
            or self.consumed >= self._told_consumed + self._chunks_per_ack
        )

    def was_acknowledged(self) -> None:
        """Note that the sender has been told all there is."""
        self.ack_flags, self._is_urgent = None, False
        self._told_landed, self._told_consumed = self.expected, self.consumed

    def hurry(self) -> None:
        """Do not wait for company any longer: nothing more is coming for a while."""
        self._is_urgent |= self.ack_flags is not None

    def repeat(self) -> None:
        """Acknowledge once more, because the last acknowledgement may have been lost."""
        if self.last is not None:
            self.ack_flags, self._is_urgent = self.ack_flags or Flag.NONE, True

    def arrive(self, header: Header, buffer: Buffer) -> bool:
        """Take in a chunk.

        Returns:
            Whether the chunk was the expected one and its buffer is now this channel's; otherwise it is to be
            dropped.
        """
        self._remember(header)
        flags = self.ack_flags or Flag.NONE
        landed = header.sequence == self.expected
        if landed:
            self._landing.append(Chunk(buffer, header.length, header.collective))
            self.expected += 1
        elif header.sequence > self.expected:
            gap = (self.expected, header.generation)
            if gap != self._gap_reported:
                self._gap_reported = gap
                flags |= Flag.GAP
        self.ack_flags = flags
        self._is_urgent |= not landed
        return landed

    def _remember(self, header: Header) -> None:
        """Keep the newest header; a chunk from before a rewind would make the sender ignore a gap report."""
        last = self.last
        if last is None or (header.generation - last.generation) % GENERATIONS < GENERATIONS // 2:
            self.last = header

    def ping(self, header: Header) -> None:
        """Note that the sender wants to know."""
        self._remember(header)
        self.ack_flags = (self.ack_flags or Flag.NONE) | Flag.PONG
        self._is_urgent = True

    def front(self) -> Chunk | None:
        """Return the oldest landed chunk that is not consumed."""
        return self._landing[0] if self._landing else None

    def consume(self) -> Buffer:
        """Remove the front chunk, which has been applied, and return its buffer."""
        self.consumed += 1
        self.ack_flags = self.ack_flags or Flag.NONE
        return self._landing.popleft().buffer
