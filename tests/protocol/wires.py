"""For unit tests: two ways out of the protocol (one only records, the other joins engines), and messages."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.channel import Chunk
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.header import Header, Kind
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.protocol.settings import Settings

ME, PEER = Nic(0, 0), Nic(1, 0)
HOME = (Hop(0, 1),)
"""The way from this rank to its peer over their home rail."""
SETTINGS = Settings(window=3, chunk_bytes=16, stall_s=0.5, probe_s=0.25, isolation_timeout_s=4.0)


def capture(engine, target=1, chunks=1, now=0.0):
    """Capture chunks of 8 bytes."""
    for _ in range(chunks):
        engine.sender(target).capture(Chunk(engine.pool.take(), 8, 1), now)


def from_peer(kind, route=HOME, **fields):
    """Make a control message from node 1 rail 0, as it arrives at this rank."""
    return Message(Header(kind, PEER, 0, tuple(Hop(hop.rail, 0) for hop in route), len(route), **fields))


class RecordingWire:
    """Writes down what leaves, and carries nothing.

    Attributes:
        by_rail: What was sent over the rank's own rail, as (node, message).
        handed: What was handed over on the node, as (rail, message).
        has_room: Whether the neighbours have room for a chunk.
    """

    def __init__(self):
        self.by_rail: list[tuple[int, Message]] = []
        self.handed: list[tuple[int, Message]] = []
        self.has_room = True

    def send_rail(self, node, message):
        """Note what leaves over the rail."""
        self.by_rail.append((node, message))

    def hand_over(self, rail, message):
        """Note what is handed over, if there is room."""
        if message.buffer is not None and not self.has_room:
            return False
        self.handed.append((rail, message))
        return True

    def all_headers(self):
        """List the headers of all that left, hand-overs first."""
        return [message.header for _, message in self.handed + self.by_rail]

    def headers(self, *kinds):
        """List those of some kinds."""
        return [header for header in self.all_headers() if header.kind in kinds]

    def clear(self):
        """Forget what has left."""
        self.by_rail.clear()
        self.handed.clear()


class _Port:
    """One engine's wire into a :class:`JoinedEngines`."""

    def __init__(self, joined, me):
        self._joined, self._me = joined, me

    def send_rail(self, node, message):
        self._joined.put(self._me, Nic(node, self._me.rail), message, by_rail=True)

    def hand_over(self, rail, message):
        self._joined.put(self._me, Nic(self._me.node, rail), message, by_rail=False)
        return True


class JoinedEngines:
    """Engines joined back to back: what one sends is at the other, in order, once it is delivered.

    Args:
        nodes: Number of nodes.
        rails: Rails per node.
        settings: Sizes and times.

    Attributes:
        engines: By NIC.
        loses: Decides which messages are lost: (from, to, message).
        carried: How many messages of each kind were delivered.
    """

    def __init__(self, nodes: int, rails: int, settings: Settings) -> None:
        self.loses: Callable[[Nic, Nic, Message], bool] = lambda *_: False
        self.carried = dict.fromkeys(Kind, 0)
        self._flying: deque[tuple[Nic, Nic, Message, bool]] = deque()
        nics = [Nic(node, rail) for node in range(nodes) for rail in range(rails)]
        self.engines = {nic: Engine(nic, nodes, rails, _Port(self, nic), settings) for nic in nics}

    def put(self, source: Nic, target: Nic, message: Message, *, by_rail: bool) -> None:
        """Put a message on its way; a chunk is copied, so that its buffer is free at once."""
        if self.loses(source, target, message):
            return
        if message.buffer is not None:
            copy = self.engines[target].pool.take()
            copy.payload[:] = message.buffer.payload
            message = message._replace(buffer=copy)
        self._flying.append((source, target, message, by_rail))

    def deliver(self, now: float) -> bool:
        """Deliver what is on its way, also what this sets going; say whether there was anything."""
        delivered = bool(self._flying)
        while self._flying:
            source, target, message, by_rail = self._flying.popleft()
            self.carried[message.header.kind] += 1
            if by_rail:
                self.engines[target].arrived_by_rail(source.node, message, now)
            else:
                self.engines[target].arrived_locally(message, now)
        return delivered

    def turn(self, now: float) -> None:
        """Let every engine look at its timers and send, and deliver it all."""
        for engine in self.engines.values():
            engine.tick(now)
            engine.pump()
        self.deliver(now)
