"""Source-routed messages between ranks: hand-overs inside a node, hops over rails, and flooding.

A message for another node leaves over the first hop's rail. When that rail belongs to a neighbour rank, the
message is handed over in the node's shared memory first; the same happens at a relay node and at the target.
A relay that has no room for a chunk drops it and counts; it never blocks, and the channel's sender makes the
loss good.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from algorithms.nic import Nic, Route
from r2cc_mpi.protocol.buffers import Buffer, BufferPool
from r2cc_mpi.protocol.header import Header, reversed_route
from r2cc_mpi.protocol.news import News


class Message(NamedTuple):
    """A header with the bytes behind it: a control message's body, or a chunk's buffer.

    Attributes:
        header: Where it goes and what it is.
        body: Of a control message.
        buffer: Of a chunk.
        place: Collective and place in the node's program order of a chunk at the rank that captured it: of
            those that wait for a rail the lowest one goes first. It does not travel; a chunk that only passes
            through has the lowest there is.
    """

    header: Header
    body: bytes = b""
    buffer: Buffer | None = None
    place: tuple[int, int] = (0, 0)


class Wire(Protocol):
    """What carries messages away; the only way out of the protocol.

    Whoever implements it counts ``buffer.pending`` up while it still reads a buffer, and down when it is
    done.
    """

    def send_rail(self, node: int, message: Message) -> None:
        """Send over this rank's own rail to its peer on another node. May never arrive."""

    def hand_over(self, rail: int, message: Message) -> bool:
        """Pass to the node's rank that owns ``rail``.

        Returns:
            False when it is a chunk and there is no room; a control message always finds room.
        """


class Network:
    """One rank's part in carrying messages.

    Args:
        me: This rank, by its NIC.
        news: The facts this rank knows; only its health table is read here.
        wire: The way out.
        pool: Where the buffers of chunks that only passed through go back to.
    """

    def __init__(self, me: Nic, news: News, wire: Wire, pool: BufferPool) -> None:
        self.me, self._news, self._wire, self._pool = me, news, wire, pool
        self.dropped_chunks = 0
        self.received_from = [0] * news.health.nodes
        """Messages that arrived over this rank's own rail, by the node that sent them: what ASK asks for."""

    def send(self, message: Message) -> bool:
        """Take a message one step along its route, from this rank.

        Returns:
            False when it is a chunk and the neighbour rank that owns the next rail has no room for it.
        """
        header = message.header
        if header.hop < len(header.route):
            hop = header.route[header.hop]
            if hop.rail == self.me.rail:
                self._wire.send_rail(
                    hop.node, Message(header.travelled(), message.body, message.buffer, message.place)
                )
                return True
            return self._wire.hand_over(hop.rail, message)
        return self._wire.hand_over(header.target_rail, message)

    def arrived_by_rail(self, node: int, message: Message) -> Message | None:
        """Take in a message that ``node`` sent over this rank's rail.

        Returns:
            The message when it is for this rank; None when it was passed on.
        """
        self.received_from[node] += 1
        return self.arrived_locally(message)

    def arrived_locally(self, message: Message) -> Message | None:
        """Take in a message handed over on this node; return it when it is for this rank, else pass it on."""
        header = message.header
        if header.hop == len(header.route) and header.target_rail == self.me.rail:
            return message
        if not self.send(message):
            self.dropped_chunks += 1
        if message.buffer is not None:
            self._pool.give_back(message.buffer)
        return None

    def reply(self, request: Header, answer: Header, body: bytes = b"") -> None:
        """Send a control message back along the route that a request came by.

        An answer that chose a route of its own could take one whose failure nobody has noticed yet while the
        request's route is known to work.
        """
        self.send_back(request.origin, request.route, answer, body)

    def send_back(self, origin: Nic, route: Route, answer: Header, body: bytes = b"") -> None:
        """Send a control message backwards along ``route``, to the rank ``origin`` at its start."""
        back = reversed_route(origin, route)
        header = answer._replace(origin=self.me, target_rail=origin.rail, route=back, length=len(body))
        self.send(Message(header, body))

    def tell_node(self, header: Header, body: bytes) -> None:
        """Send a control message to the node's other ranks."""
        for rail in range(self._news.health.rails):
            if rail != self.me.rail:
                self._wire.hand_over(rail, Message(header._replace(target_rail=rail, length=len(body)), body))

    def flood(self, header: Header, body: bytes) -> None:
        """Send a control message to the node's other ranks and to the peers on this rank's live rail."""
        self.tell_node(header, body)
        health = self._news.health
        if not health.is_up(self.me):
            return
        for node in range(health.nodes):
            if node != self.me.node and health.is_up(Nic(node, self.me.rail)):
                # A flooded message travels one hop at a time, so its header names no route.
                own_rail = header._replace(target_rail=self.me.rail, length=len(body))
                self._wire.send_rail(node, Message(own_rail, body))
