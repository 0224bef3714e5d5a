"""Stand-ins for unit tests: a wire that writes down what is sent, headers, chunks and news."""

from __future__ import annotations

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.buffers import Buffer, BufferPool
from r2cc_mpi.protocol.channel import Chunk
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.header import Flag, Header, Kind
from r2cc_mpi.protocol.network import Message, Network
from r2cc_mpi.protocol.news import News

ORIGIN = Nic(0, 0)
FAR = Nic(2, 1)


class FakeWire:
    """Takes everything and writes it down.

    Attributes:
        sent: Messages sent over this rank's rail, as (node, message).
        handed: Messages handed over, as (rail, message).
        has_room: Whether neighbour ranks take chunks.
    """

    def __init__(self) -> None:
        self.sent: list[tuple[int, Message]] = []
        self.handed: list[tuple[int, Message]] = []
        self.has_room = True

    def send_rail(self, node: int, message: Message) -> None:
        """Write down."""
        self.sent.append((node, message))

    def hand_over(self, rail: int, message: Message) -> bool:
        """Write down, unless it is a chunk and there is no room."""
        if message.buffer is not None and not self.has_room:
            return False
        self.handed.append((rail, message))
        return True

    def take(self, kind: Kind) -> list[Header]:
        """Forget everything; return the headers of one kind, those sent over the rail first."""
        everything = [message.header for _, message in (*self.sent, *self.handed)]
        self.sent, self.handed = [], []
        return [header for header in everything if header.kind is kind]


def network(
    me: Nic, nodes: int = 3, rails: int = 2, pool: BufferPool | None = None
) -> tuple[Network, FakeWire, News]:
    """Make one rank's network over a fake wire."""
    wire, news = FakeWire(), News(nodes, rails)
    return Network(me, news, wire, pool or BufferPool(16)), wire, news


def report(news: News, nic: Nic, *, up: bool = False) -> None:
    """Let a rank know that a NIC is down, or up again."""
    news.add_health(news.health.raised(nic, up=up))


def buffer(content: bytes = b"12345678") -> Buffer:
    """Make a buffer with a payload."""
    made = Buffer(16)
    made.payload[: len(content)] = list(content)
    return made


def chunk(content: bytes = b"12345678", collective: int = 1) -> Chunk:
    """Make a chunk with a payload."""
    return Chunk(buffer(content), len(content), collective)


def data(sequence: int, *, generation: int = 0, source: Nic = ORIGIN, target: int = 1) -> Header:
    """Make the header of a chunk that came straight over its home rail."""
    return Header(
        Kind.DATA,
        source,
        source.rail,
        (Hop(source.rail, target),),
        hop=1,
        generation=generation,
        collective=1,
        sequence=sequence,
        length=8,
    )


def hear(engine: Engine, news: News, now: float = 1.0) -> None:
    """Let news of node 1 arrive over the rail."""
    engine.arrived_by_rail(1, Message(Header(Kind.NEWS, Nic(1, 0), 0), news.pack()), now)


def hello(
    engine: Engine, number: int, *, flags: Flag = Flag.NONE, origin: Nic = FAR, now: float = 1.0
) -> None:
    """Let a HELLO arrive over the rail, passed on by node 1."""
    header = Header(Kind.HELLO, origin, 0, flags=flags, sequence=number)
    engine.arrived_by_rail(1, Message(header, News(engine.nodes, engine.rails).pack()), now)


def pass_time(engine: Engine, begin: float, end: float) -> None:
    """Look at the timers again and again."""
    for tick in range(int(begin / 0.02), int(end / 0.02) + 1):
        engine.tick(tick * 0.02)
