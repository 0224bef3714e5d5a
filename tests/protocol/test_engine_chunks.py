"""The engine's care for chunks: sending, acknowledging, sending again."""

from __future__ import annotations

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.header import Flag, Header, Kind
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.protocol.settings import Settings
from tests.protocol.fakes import FakeWire, buffer, chunk, data

ME = Nic(0, 0)
SETTINGS = Settings(window=3, chunk_bytes=16)


class Sending:
    """A rank with three chunks on their way to node 1."""

    def __init__(self) -> None:
        self.wire = FakeWire()
        self.engine = Engine(ME, 3, 2, self.wire, SETTINGS)
        self.channel = self.engine.sender(1)
        for number in range(3):
            self.channel.capture(chunk(bytes([number] * 8)), 0.0)

    def pump(self) -> list[int]:
        """Send what may be sent; return the numbers of the chunks."""
        self.engine.pump()
        return [header.sequence for header in self.wire.take(Kind.DATA)]

    def acknowledge(
        self, landed: int, consumed: int = 0, flags: Flag = Flag.NONE, generation: int = 0
    ) -> None:
        """Let an acknowledgement arrive."""
        header = Header(
            Kind.ACK, Nic(1, 0), 0, (Hop(0, 0),), 1, flags, generation, landed=landed, consumed=consumed
        )
        self.engine.arrived_by_rail(1, Message(header), 1.0)


def test_chunks_know_their_place():
    """A rail that has to choose is told each chunk's collective and place in program order."""
    sending = Sending()
    sending.channel.capture(chunk(bytes(8), collective=2)._replace(place=7), 0.0)
    sending.engine.pump()
    assert [message.place for _, message in sending.wire.sent] == [(1, 0), (1, 0), (1, 0), (2, 7)]


def test_chunks_carry_all_that_the_receiver_needs():
    """A chunk's header names channel, number, collective, length, generation and route."""
    sending = Sending()
    sending.engine.pump()
    node, message = sending.wire.sent[1]
    assert node == 1
    assert message.header == Header(Kind.DATA, ME, 0, (Hop(0, 1),), hop=1, collective=1, sequence=1, length=8)
    assert message.buffer is not None
    assert message.buffer.payload[:8].tolist() == [1] * 8


def test_refused_chunk_is_tried_again_later():
    """A chunk for which the neighbour rank has no room stays the next one."""
    sending = Sending()
    sending.engine.declare_down([ME], 0.0)
    sending.wire.take(Kind.NEWS)
    sending.wire.has_room = False
    assert sending.pump() == []
    assert sending.channel.sent == 0
    sending.wire.has_room = True
    assert sending.pump() == [0, 1, 2]


def test_buffers_of_landed_chunks_are_used_again():
    """An acknowledgement returns the buffers of the chunks that landed, and credit for those consumed."""
    sending = Sending()
    sending.pump()
    sending.acknowledge(landed=2, consumed=1)
    assert sending.channel.has_room
    reused = [sending.engine.pool.take() for _ in range(3)]
    assert sorted(int(one.payload[0]) for one in reused[:2]) == [0, 1]


def test_gap_makes_the_sender_rewind():
    """A receiver that misses a chunk gets it again, with all that follow."""
    sending = Sending()
    sending.pump()
    sending.acknowledge(landed=1, flags=Flag.GAP)
    assert sending.pump() == [1, 2]


@pytest.mark.parametrize(
    ("flags", "generation", "landed"),
    [(Flag.GAP, 1, 1), (Flag.GAP, 0, 3), (Flag.NONE, 0, 1), (Flag.PONG, 1, 1)],
    ids=["another generation", "nothing missing", "no remark", "pong of another generation"],
)
def test_nothing_is_sent_again_without_need(flags, generation, landed):
    """An answer to what was sent before a rewind, or one that misses nothing, changes nothing."""
    sending = Sending()
    sending.pump()
    sending.acknowledge(landed, flags=flags, generation=generation)
    assert sending.pump() == []


def test_pong_makes_the_sender_rewind_if_nothing_waits_at_its_own_nic():
    """Missing chunks that this rank's NIC has sent are lost; what still waits there is only slow."""
    sending = Sending()
    sending.engine.pump()
    held = sending.wire.sent[2][1].buffer
    assert held is not None
    held.pending = 1
    sending.wire.take(Kind.DATA)
    sending.acknowledge(landed=1, flags=Flag.PONG)
    assert sending.pump() == []
    held.pending = 0
    sending.acknowledge(landed=1, flags=Flag.PONG)
    assert sending.pump() == [1, 2]


def test_rewound_chunk_leaves_from_a_fresh_buffer_while_its_first_send_is_pending():
    """The old send may still read header and payload, so neither is touched; the copy has the same bytes."""
    sending = Sending()
    sending.engine.pump()
    first = [message.buffer for _, message in sending.wire.sent]
    for held in first[:2]:
        assert held is not None
        held.pending = 1
    sending.wire.take(Kind.DATA)
    sending.engine.declare_down([Nic(1, 0)], 0.0)
    sending.engine.pump()
    again = [message.buffer for _, message in sending.wire.handed if message.buffer is not None]
    assert [one in first for one in again] == [False, False, True]
    assert [one.payload[:8].tolist() for one in again] == [[0] * 8, [1] * 8, [2] * 8]
    assert sending.engine.pool.quarantined == 2


class TestAcknowledging:
    """A rank that receives from node 1."""

    def engine(self) -> tuple[Engine, FakeWire]:
        """Make its engine."""
        wire = FakeWire()
        return Engine(ME, 3, 2, wire, SETTINGS), wire

    def arrive(self, engine: Engine, *headers: Header) -> None:
        """Let chunks arrive over the rail."""
        for header in headers:
            engine.arrived_by_rail(1, Message(header, buffer=buffer()), 1.0)

    def test_one_acknowledgement_for_all_that_arrived(self):
        """Chunks that arrive together are acknowledged together, along their route."""
        engine, wire = self.engine()
        self.arrive(engine, data(0, source=Nic(1, 0), target=0), data(1, source=Nic(1, 0), target=0))
        assert wire.sent == []
        engine.pump()
        (ack,) = wire.take(Kind.ACK)
        assert ack == Header(Kind.ACK, ME, 0, (Hop(0, 1),), hop=1, landed=2)
        engine.pump()
        assert wire.take(Kind.ACK) == []

    def test_consumption_is_acknowledged(self):
        """Applying a chunk makes another acknowledgement due."""
        engine, wire = self.engine()
        self.arrive(engine, data(0, source=Nic(1, 0), target=0))
        engine.pump()
        wire.take(Kind.ACK)
        engine.receiver(1).consume()
        engine.pump()
        assert [(ack.landed, ack.consumed) for ack in wire.take(Kind.ACK)] == [(1, 1)]

    def test_acknowledgements_retrace_the_route(self):
        """What came through a relay is acknowledged through the relay, though the home rail is up."""
        engine, wire = self.engine()
        relayed = data(0, source=Nic(1, 0))._replace(route=(Hop(0, 2), Hop(1, 0)), hop=2)
        engine.arrived_locally(Message(relayed, buffer=buffer()), 1.0)
        engine.pump()
        (ack,) = wire.take(Kind.ACK)
        assert ack.route == (Hop(1, 2), Hop(0, 1))

    def test_acknowledgements_avoid_a_route_that_is_known_to_be_dead(self):
        """If the chunk's route has lost a NIC since, the acknowledgement takes the best route there is."""
        engine, wire = self.engine()
        self.arrive(engine, data(0, source=Nic(1, 0), target=0))
        engine.declare_down([Nic(1, 0)], 1.0)
        engine.pump()
        (ack,) = wire.take(Kind.ACK)
        assert ack.route == (Hop(1, 1),)

    def test_acknowledgements_are_repeated_after_a_failure(self):
        """An acknowledgement may have been lost with a NIC, so any change of health makes one due."""
        engine, wire = self.engine()
        self.arrive(engine, data(0, source=Nic(1, 0), target=0))
        engine.pump()
        wire.take(Kind.ACK)
        engine.declare_down([Nic(2, 1)], 1.0)
        engine.pump()
        assert [ack.landed for ack in wire.take(Kind.ACK)] == [1]

    def test_buffers_of_dropped_chunks_come_back(self):
        """A duplicate's buffer is used again at once; that of a chunk that landed is not."""
        engine, _ = self.engine()
        header = data(0, source=Nic(1, 0), target=0)
        landed, dropped = buffer(), buffer()
        engine.arrived_by_rail(1, Message(header, buffer=landed), 1.0)
        engine.arrived_by_rail(1, Message(header, buffer=dropped), 1.0)
        assert engine.pool.take() is dropped
        assert engine.pool.take() is not landed

    def test_ping_is_answered(self):
        """A sender that asks is told what landed, with the remark that this is the answer."""
        engine, wire = self.engine()
        ping = Header(Kind.PING, Nic(1, 0), 0, (Hop(0, 0),), hop=1, generation=4)
        engine.arrived_by_rail(1, Message(ping), 1.0)
        engine.pump()
        (ack,) = wire.take(Kind.ACK)
        assert (ack.flags, ack.generation, ack.landed) == (Flag.PONG, 4, 0)
