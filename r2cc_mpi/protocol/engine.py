"""One rank's engine: messages and time in, messages out, and the channels that the executor uses.

The engine serves from the communicator's creation to its close, inside collectives and between them: a relay,
an acknowledgement or an answer may be needed of it at any time. (Leaving when one's own work is done hangs
somewhere under every rule that was tried.) It does no I/O; :class:`~r2cc_mpi.protocol.network.Wire` is its
way out.
"""

from __future__ import annotations

from typing import NamedTuple

from algorithms.nic import Nic
from r2cc_mpi.protocol.buffers import BufferPool
from r2cc_mpi.protocol.channel import ReceiveChannel, SendChannel
from r2cc_mpi.protocol.closing import Close
from r2cc_mpi.protocol.header import Flag, Header, Kind
from r2cc_mpi.protocol.health import Change
from r2cc_mpi.protocol.hot_repair import HotRepair, nics_on
from r2cc_mpi.protocol.liveness import Liveness, describe
from r2cc_mpi.protocol.network import Message, Network, Wire
from r2cc_mpi.protocol.news import ErrorFact, ErrorKind, News, Signature, Start
from r2cc_mpi.protocol.recovery import Recovery
from r2cc_mpi.protocol.settings import Settings
from r2cc_mpi.protocol.triangulation import Triangulation

TICK_S = 0.01
"""Timers are looked at this often at most."""

CHUNKS_PER_ACK = 2
"""Chunks of a busy channel for which one acknowledgement is enough. With more, senders wait for credit."""


class Detection(NamedTuple):
    """When and how this rank learned that a NIC's health changed.

    The cause is 'probe', 'news', 'echo', 'declared', or what the rail's own report said ('event').
    """

    nic: Nic
    version: int
    at: float
    cause: str


class Engine:
    """The protocol at one rank.

    Args:
        me: This rank, by the NIC it owns.
        nodes: Number of nodes.
        rails: Rails per node.
        wire: The way out.
        settings: Sizes and times.

    Attributes:
        news: All facts this rank knows, with the health table.
        pool: Buffers for captured chunks, also for chunks that arrive.
        detections: Health changes in the order they were learned.
        finished: The last collective that this rank has done its part of.
    """

    def __init__(self, me: Nic, nodes: int, rails: int, wire: Wire, settings: Settings) -> None:
        self.me, self.nodes, self.rails, self.settings = me, nodes, rails, settings
        self.rank = me.node * rails + me.rail
        self.news = News(nodes, rails)
        self.health = self.news.health
        self.pool = BufferPool(settings.chunk_bytes)
        self.network = Network(me, self.news, wire, self.pool)
        self.senders: dict[int, SendChannel] = {}
        self.receivers: dict[int, ReceiveChannel] = {}
        self.hot_repair = HotRepair(me, self.health, self.senders)
        self.detections: list[Detection] = []
        self.finished = 0
        hello_s = min(settings.stall_s, settings.isolation_timeout_s / 4)
        self.liveness = Liveness(self.rank, nodes * rails, hello_s, settings.isolation_timeout_s)
        self.closing = Close(self.rank, self.news, settings.isolation_timeout_s)
        self._triangulation = Triangulation(me, self.health, self.network, settings.probe_s)
        self._recovery = Recovery(me, self.health, self.network, settings.stall_s, settings.damping_s)
        self._ticked_at: float | None = None
        self._asked: list[tuple[float, Header]] = []

    # Channels, as the executor sees them.

    def sender(self, target: int) -> SendChannel:
        """Return the channel from this rank to a node, on this rank's home rail."""
        if target not in self.senders:
            channel = self.senders[target] = SendChannel(target, self.settings.window)
            channel.route = self.hot_repair.best_route(target)
        return self.senders[target]

    def receiver(self, source: int) -> ReceiveChannel:
        """Return the channel to this rank from a node, on this rank's home rail."""
        if source not in self.receivers:
            self.receivers[source] = ReceiveChannel(max(1, min(CHUNKS_PER_ACK, self.settings.window // 2)))
        return self.receivers[source]

    def pump(self) -> None:
        """Send what may be sent, and the acknowledgements that are due."""
        for source, receiver in self.receivers.items():
            if receiver.is_ack_due:
                self._acknowledge(source, receiver)
        for channel in self.senders.values():
            self._send_chunks(channel)

    def _acknowledge_the_rest(self) -> None:
        for source, receiver in self.receivers.items():
            if receiver.ack_flags is not None:
                self._acknowledge(source, receiver)

    def _acknowledge(self, source: int, receiver: ReceiveChannel) -> None:
        last, flags = receiver.last, receiver.ack_flags
        assert last is not None
        assert flags is not None
        receiver.was_acknowledged()
        answer = Header(
            Kind.ACK,
            self.me,
            last.origin.rail,
            flags=flags,
            generation=last.generation,
            landed=receiver.expected,
            consumed=receiver.consumed,
        )
        if all(self.health.is_up(nic) for nic in nics_on(last.route, last.origin.node)):
            self.network.reply(last, answer)
        elif (route := self.hot_repair.best_route(source)) is not None:
            self.network.send(Message(answer._replace(route=route)))

    def _send_chunks(self, channel: SendChannel) -> None:
        while channel.route is not None and (following := channel.next_chunk()) is not None:
            number, chunk = following
            if (
                chunk.buffer.pending
            ):  # a rewound chunk, whose first send still reads the buffer and its header
                fresh = self.pool.take()
                fresh.payload[: chunk.length] = chunk.buffer.payload[: chunk.length]
                self.pool.give_back(chunk.buffer)
                channel.replace_buffer(number, fresh)
                chunk = chunk._replace(buffer=fresh)
            header = Header(
                Kind.DATA,
                self.me,
                self.me.rail,
                channel.route,
                generation=channel.generation,
                collective=chunk.collective,
                sequence=number,
                length=chunk.length,
            )
            place = (chunk.collective, chunk.place)
            if not self.network.send(Message(header, buffer=chunk.buffer, place=place)):
                return
            channel.was_sent()

    # Collectives, errors and closing.

    def lead(self, number: int, signature: Signature) -> None:
        """Begin a collective, as the leader: everyone plans it under the health this rank knows now."""
        if self.news.add_start(Start(number, signature, tuple(self.health.versions))):
            self._flood_news()

    def start_of(self, number: int) -> Start | None:
        """Return the START of a collective once it is known."""
        return self.news.starts.get(number)

    def enter(self, start: Start, now: float) -> None:
        """Apply the agreed health vector: NICs that came back are used again from here on."""
        self._apply(self.news.add_health(list(start.versions)), now, "news")
        if self.health.admit(start.versions):
            for channel in self.senders.values():
                self.hot_repair.prefer(channel)

    def leave(self, number: int) -> None:
        """Note that this rank has done its part of a collective; its senders should hear of it at once."""
        self.finished = number
        for receiver in self.receivers.values():
            receiver.hurry()

    def give_up(self, kind: ErrorKind, text: str) -> None:
        """Tell everyone that the job cannot go on."""
        if self.news.add_error(ErrorFact(kind, text)):
            self._flood_news()

    def call_roll(self, collective: int) -> None:
        """Ask every rank whether it has finished a collective; :attr:`news` collects the answers."""
        if self.news.ask(collective):
            self.news.add_answer(self.rank, self.finished)
            self._flood_news()

    # Events.

    def rail_event(self, *, up: bool, now: float, cause: str = "event") -> None:
        """Take in what this rank's own rail reports of itself (a cable pulled or plugged in)."""
        self._recovery.carrier = up
        if not up:
            self._recovery.lost_again()
            self._learn([self.me], now, cause)

    def declare_down(self, nics: list[Nic], now: float) -> None:
        """Take it as given that NICs are down: declared by the user, or found out by other means."""
        self._learn(nics, now, "declared")

    def arrived_by_rail(self, node: int, message: Message, now: float) -> None:
        """Take in a message that arrived from ``node`` over this rank's rail."""
        own = self.network.arrived_by_rail(node, message)
        if own is not None:
            self._deliver(own, now)

    def arrived_locally(self, message: Message, now: float) -> None:
        """Take in a message that another rank of this node handed over."""
        own = self.network.arrived_locally(message)
        if own is not None:
            self._deliver(own, now)

    def _deliver(self, message: Message, now: float) -> None:
        header = message.header
        if header.kind is Kind.DATA:
            self._chunk_arrived(message)
        elif header.kind is Kind.ACK:
            self._acknowledged(header, now)
        elif header.kind is Kind.PING:
            self.receiver(header.origin.node).ping(header)
        elif header.kind is Kind.PROBE:
            self.network.reply(header, Header(Kind.ECHO, self.me, self.me.rail, sequence=header.sequence))
        elif header.kind is Kind.ECHO:
            self._triangulation.echo(header)
            self._recovery.echo(header, now)
        elif header.kind is Kind.ASK:
            self._asked.append((now, header))
        elif header.kind is Kind.ANSWER:
            self._triangulation.answer(header, now)
        elif header.kind is Kind.NEWS:
            self._read_news(header.origin, message.body, now)
        else:
            self._hello(message, now)

    def _chunk_arrived(self, message: Message) -> None:
        assert message.buffer is not None
        receiver = self.receiver(message.header.origin.node)
        if not receiver.arrive(message.header, message.buffer):
            self.pool.give_back(message.buffer)

    def _acknowledged(self, header: Header, now: float) -> None:
        channel = self.sender(header.origin.node)
        for buffer in channel.acknowledge(header.landed, header.consumed, now):
            self.pool.give_back(buffer)
        missing = channel.landed == header.landed < channel.sent and header.generation == channel.generation
        if missing and (
            header.flags & Flag.GAP or (header.flags & Flag.PONG and not channel.local_sends_pending())
        ):
            channel.rewind()
        if channel.is_settled:
            self.hot_repair.prefer(channel)

    def _answer(self, now: float) -> None:
        # Answered only after a further round of polling: a process that was not running for a while must
        # first take in what its rail has for it, or its count would stand still for the wrong reason.
        due = [header for at, header in self._asked if now >= at + TICK_S]
        self._asked = [(at, header) for at, header in self._asked if now < at + TICK_S]
        for header in due:
            count = self.network.received_from[header.origin.node]
            answer = Header(Kind.ANSWER, self.me, self.me.rail, sequence=header.sequence, landed=count)
            self.network.reply(header, answer)

    # News.

    def _read_news(self, origin: Nic, body: bytes, now: float) -> None:
        learned = self.news.merge(body)
        if not learned.anything:
            return
        self.news.add_answer(self.rank, self.finished)
        if learned.only_starts and not self.health.excluded():
            # Every collective begins with a START. While all is well the leader's peers tell it to their
            # nodes, and that is enough; should it get lost, a HELLO brings it.
            if origin.node != self.me.node:
                self.network.tell_node(Header(Kind.NEWS, self.me, self.me.rail), self.news.pack())
            return
        self._flood_news()
        self._apply(learned.changes, now, "news")

    def _flood_news(self) -> None:
        self.network.flood(Header(Kind.NEWS, self.me, self.me.rail), self.news.pack())

    def _learn(self, nics: list[Nic], now: float, cause: str, *, up: bool = False) -> None:
        changes: list[Change] = []
        for nic in nics:
            changes += self.news.add_health(self.health.raised(nic, up=up))
        if changes:
            self._flood_news()
            self._apply(changes, now, cause)

    def _apply(self, changes: list[Change], now: float, cause: str) -> None:
        if not changes:
            return
        for change in changes:
            self.detections.append(Detection(change.nic, change.after, now, cause))
            if change.nic == self.me and change.after % 2:
                self._recovery.lost_again()
        self.hot_repair.repair(changes, now)
        for receiver in self.receivers.values():  # an acknowledgement may have been lost with the NIC
            receiver.repeat()

    def _hello(self, message: Message, now: float) -> None:
        origin = message.header.origin
        rank = origin.node * self.rails + origin.rail
        self._read_news(origin, message.body, now)
        if self.liveness.heard(rank, message.header.sequence, now):
            self.network.flood(message.header, message.body)
            if message.header.flags & Flag.ASKING:
                self.closing.heard(now)
                self._say_hello(now, asking=False)
                self._triangulation.begin(now)

    def _say_hello(self, now: float, *, asking: bool) -> None:
        number = self.liveness.next_hello(now, answer=not asking)
        if number is not None:
            flags = Flag.ASKING if asking else Flag.NONE
            header = Header(Kind.HELLO, self.me, self.me.rail, flags=flags, sequence=number)
            self.network.flood(header, self.news.pack())

    # Time.

    def tick(self, now: float) -> None:
        """Look at the timers; to be called often, returns at once when nothing is due."""
        if self._ticked_at is not None:
            if now < self._ticked_at + TICK_S:
                return
            pause_s = now - self._ticked_at
            if pause_s > self.settings.stall_s:
                self.liveness.forgive(pause_s)
        self._ticked_at = now
        self.pool.sweep()
        self._acknowledge_the_rest()
        self._answer(now)
        stalled = [channel for channel in self.senders.values() if self._check_stall(channel, now)]
        if stalled or self.liveness.is_stuck(now):
            self._say_hello(now, asking=True)
            self._triangulation.begin(now)
            silent = self.liveness.silent_ranks(now)
            if silent and self.news.error is None:
                timeout_s = self.settings.isolation_timeout_s
                text = describe(silent, self.nodes, self.rails, timeout_s)
                self.give_up(ErrorKind.ISOLATED, text)
        self._learn(self._triangulation.tick(now), now, "probe")
        # When all may leave a peer may be gone, and a message to it can keep MPICH busy for ever (measured).
        if not self.closing.may_leave(now) and self._recovery.tick(now):
            self._learn([self.me], now, "echo", up=True)
        if self.closing.tick(now, consumed=all(c.is_consumed for c in self.senders.values())):
            self._flood_news()
            if self.closing.needs_nobody:
                self.liveness.rest()

    def _check_stall(self, channel: SendChannel, now: float) -> bool:
        """Ping the receiver of a channel that does not get on; say whether a chunk is overdue."""
        if channel.is_consumed:
            return False
        patience_s = self.settings.stall_s * 2.0 ** min(channel.pings, 3)
        quiet_since = max(channel.progress_at, channel.pinged_at)
        if now > quiet_since + patience_s and channel.route is not None:
            channel.pings += 1
            channel.pinged_at = now
            ping = Header(Kind.PING, self.me, self.me.rail, channel.route, generation=channel.generation)
            self.network.send(Message(ping))
        return channel.landed < channel.captured and now > channel.progress_at + self.settings.stall_s
