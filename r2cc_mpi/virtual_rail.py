"""A virtual rail: a NIC in software, in front of MPI, that paces, counts, slows down and dies on command.

Chunks leave one after the other at the rail's rate, in each direction; idle time banks no credit. Of those
that wait, the lowest place in program order goes first: a channel may have a whole window of chunks waiting,
and what is urgent must not queue up behind them. Sender and receiver keep one timeline: each chunk carries
the time at which its last byte left, so a process that is scheduled late delays a chunk but does not stretch
the rail's time. Control messages are small and overtake the chunks, as on a NIC with several queue pairs.

A dead NIC sends and receives nothing. A *lossy* one forgets what was in flight; a *late* one keeps it and
delivers it when it comes back, as TCP does on a real link.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from r2cc_mpi.mpi_rail import Arrival, Completion, MpiRail
from r2cc_mpi.protocol.network import Message

KEPT_COLLECTIVES = 1024
_STAMP = 1 << 32


@dataclass
class Counters:
    """Payload bytes and chunks that a NIC has passed, and its control messages."""

    sent_bytes: int = 0
    received_bytes: int = 0
    sent_chunks: int = 0
    sent_controls: int = 0
    by_collective: dict[int, list[int]] = field(default_factory=dict)
    """Payload bytes [sent, received] of the latest collectives, by number; one hit by a failure counts
    repeats too.
    """

    def count(self, collective: int, *, sent: int = 0, received: int = 0) -> None:
        """Count a chunk."""
        self.sent_bytes += sent
        self.received_bytes += received
        entry = self.by_collective.setdefault(collective, [0, 0])
        entry[0] += sent
        entry[1] += received
        if len(self.by_collective) > KEPT_COLLECTIVES:
            del self.by_collective[next(iter(self.by_collective))]


class _Waiting(NamedTuple):
    """A chunk that waits to leave; compared by its place, then in the order of arrival."""

    place: tuple[int, int]
    number: int
    queued_at: float
    node: int
    message: Message


def to_stamp(time_s: float) -> int:
    """Write a time as 32 bits of microseconds."""
    return int(time_s * 1e6) % _STAMP


def from_stamp(stamp: int, now: float) -> float:
    """Read a time that lies within half an hour of ``now``."""
    difference = (stamp - to_stamp(now) + _STAMP // 2) % _STAMP - _STAMP // 2
    return now + difference / 1e6


class VirtualRail:
    """One rank's software NIC.

    Args:
        rail: The MPI rail underneath.
        rate_bytes_per_s: Rate in each direction, or None for unpaced.
        common_clock: Whether all ranks are on one host. Otherwise their clocks cannot be compared, and a
            chunk counts as sent when it arrives.
        on_sent: Called with the time after every chunk that left, for faults that wait for a number of bytes.
    """

    def __init__(
        self,
        rail: MpiRail,
        rate_bytes_per_s: float | None,
        *,
        common_clock: bool = True,
        on_sent: Callable[[float], None] | None = None,
    ) -> None:
        self._rail, self._rate, self._common_clock = rail, rate_bytes_per_s, common_clock
        self.on_sent = on_sent
        self.counters = Counters()
        self.factor = 1.0
        self.is_dead = False
        self._late = False
        self._waiting: list[_Waiting] = []
        self._on_wire: _Waiting | None = None
        self._queued = 0
        self._incoming: deque[tuple[float, Arrival]] = deque()
        self._held_controls: list[tuple[int, Message]] = []
        self._held_arrivals: list[Arrival] = []
        self._sending_free_at = self._receiving_free_at = 0.0

    def _seconds(self, length: int) -> float:
        return 0.0 if self._rate is None else length / (self._rate * self.factor)

    def is_idle_towards(self, nodes: Collection[int]) -> bool:
        """Say whether nothing waits to leave for these nodes."""
        queued = [*self._waiting, *([] if self._on_wire is None else [self._on_wire])]
        return not any(chunk.node in nodes for chunk in queued) and not self._rail.is_sending_to(nodes)

    def send(self, node: int, message: Message, now: float) -> None:
        """Queue a message for another node."""
        if message.buffer is not None:
            if self.is_dead and not self._late:
                return
            message.buffer.pending += 1
            is_free = not (self._waiting or self._on_wire or self.is_dead)
            if is_free and self._rate is None and self.on_sent is None:  # else its time comes with a poll
                self._let_go(node, message, now)
                return
            self._waiting.append(_Waiting(message.place, self._queued, now, node, message))
            self._queued += 1
            return
        if self.is_dead:
            if self._late:
                self._held_controls.append((node, message))
            return
        self.counters.sent_controls += 1
        self._rail.send(node, message, to_stamp(now))

    def poll(self, now: float) -> list[Arrival]:
        """Send what its time has come for, and return what has arrived by now."""
        if self._waiting or self._on_wire is not None:
            self._transmit(now)
        ready: list[Arrival] = []
        if self._held_arrivals and not self.is_dead:
            ready, self._held_arrivals = self._held_arrivals, []
        for arrival, stamp in self._rail.poll():
            if self.is_dead and not self._late:
                self._forget(arrival)
            elif arrival.message.buffer is not None:
                due = self._receive_time(arrival.message.header.length, stamp, now)
                self._incoming.append((due, arrival))
            elif self.is_dead:
                self._held_arrivals.append(arrival)
            else:
                ready.append(arrival)
        while self._incoming and self._incoming[0][0] <= now and not self.is_dead:
            arrival = self._incoming.popleft()[1]
            header = arrival.message.header
            self.counters.count(header.collective, received=header.length)
            ready.append(arrival)
        return ready

    def _receive_time(self, length: int, stamp: int, now: float) -> float:
        if self._rate is None:
            return now
        last_byte = from_stamp(stamp, now) if self._common_clock else now
        first_byte = last_byte - self._seconds(length)
        self._receiving_free_at = max(self._receiving_free_at, first_byte) + self._seconds(length)
        return self._receiving_free_at

    def _transmit(self, now: float) -> None:
        while not self.is_dead and (chunk := self._occupant()) is not None:
            left_at = self._leaves_at(chunk)
            if left_at > now:
                return
            self._on_wire = None
            self._sending_free_at = left_at
            self._let_go(chunk.node, chunk.message, left_at)
            if self.on_sent is not None:
                self.on_sent(now)

    def _let_go(self, node: int, message: Message, left_at: float) -> None:
        self._rail.send(node, message, to_stamp(left_at), _released(message))
        self.counters.count(message.header.collective, sent=message.header.length)
        self.counters.sent_chunks += 1

    def _occupant(self) -> _Waiting | None:
        """Return the chunk on the wire; if there is none, let one of those go that wait when it is free."""
        if self._on_wire is None and self._waiting:
            free_at = max(self._sending_free_at, min(chunk.queued_at for chunk in self._waiting))
            self._on_wire = min(chunk for chunk in self._waiting if chunk.queued_at <= free_at)
            self._waiting.remove(self._on_wire)
        return self._on_wire

    def _leaves_at(self, chunk: _Waiting) -> float:
        length = chunk.message.header.length
        return max(chunk.queued_at, self._sending_free_at) + self._seconds(length)

    def next_due(self) -> float | None:
        """Say when this rail next has something to do by itself, in seconds on the caller's clock."""
        if self.is_dead:
            return None
        times = [self._incoming[0][0]] if self._incoming else []
        if (chunk := self._occupant()) is not None:
            times.append(self._leaves_at(chunk))
        return min(times, default=None)

    def die(self, *, late: bool) -> None:
        """Stop sending and receiving; forget what is in flight, or keep it for later."""
        self.is_dead, self._late = True, late
        if late:
            return
        if self._on_wire is not None:
            self._waiting.append(self._on_wire)
            self._on_wire = None
        for chunk in self._waiting:
            _released(chunk.message)()
        for _, arrival in self._incoming:
            self._forget(arrival)
        self._waiting.clear()
        self._incoming.clear()

    def revive(self, now: float) -> None:
        """Work again; what was kept goes on its way now."""
        if not self.is_dead:
            return
        self.is_dead = False
        self._sending_free_at = max(self._sending_free_at, now)
        held, self._held_controls = self._held_controls, []
        for node, message in held:
            self.send(node, message, now)

    def _forget(self, arrival: Arrival) -> None:
        if arrival.message.buffer is not None:
            self._rail.give_back(arrival.message.buffer)


def _released(message: Message) -> Completion:
    def release() -> None:
        assert message.buffer is not None
        message.buffer.pending -= 1

    return release
