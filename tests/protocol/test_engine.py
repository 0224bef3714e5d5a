from __future__ import annotations

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.engine import TICK_S, Engine
from r2cc_mpi.protocol.header import Flag, Header, Kind
from r2cc_mpi.protocol.network import Message
from tests.protocol.wires import HOME, ME, PEER, SETTINGS, RecordingWire, capture, from_peer


@pytest.fixture
def wire():
    """What the engine sends."""
    return RecordingWire()


@pytest.fixture
def engine(wire):
    """The engine of node 0 rail 0, among 3 nodes with 2 rails."""
    return Engine(ME, 3, 2, wire, SETTINGS)


def chunk_from_peer(engine, number):
    """Make a chunk from node 1 rail 0, as it arrives at this rank."""
    message = from_peer(Kind.DATA, sequence=number, collective=1, length=8)
    return message._replace(buffer=engine.pool.take())


def test_pump_sends_what_was_captured(engine, wire):
    """Captured chunks leave in order, over the channel's route, with all that the receiver needs to know."""
    capture(engine, chunks=2)
    engine.pump()
    assert [node for node, _ in wire.by_rail] == [1, 1]
    expected = Header(Kind.DATA, ME, 0, HOME, 1, collective=1, length=8)
    assert wire.all_headers() == [expected, expected._replace(sequence=1)]
    wire.clear()
    engine.pump()
    assert wire.all_headers() == []


def test_pump_stops_where_the_neighbour_has_no_room(engine, wire):
    """A chunk that the neighbour has no room for is not sent, and goes first the next time."""
    engine.declare_down([ME], 0.0)
    wire.clear()
    capture(engine, chunks=2)
    wire.has_room = False
    engine.pump()
    assert engine.sender(1).sent == 0
    wire.has_room = True
    engine.pump()
    assert [header.sequence for header in wire.headers(Kind.DATA)] == [0, 1]


def test_announced_event_moves_channels_and_floods(engine, wire):
    """When the rail reports itself down, its channels move, rewind, and everyone who can be told is told."""
    capture(engine, chunks=2)
    engine.pump()
    wire.clear()
    engine.rail_event(up=False, now=5.0)
    assert engine.sender(1).route == (Hop(1, 1),)
    assert engine.health.down() == [ME]
    assert [(d.nic, d.version, d.at, d.cause) for d in engine.detections] == [(ME, 1, 5.0, "event")]
    ((rail, flooded),) = wire.handed
    assert (rail, flooded.header.kind, flooded.body) == (1, Kind.NEWS, engine.news.pack())
    assert wire.by_rail == []
    wire.clear()
    engine.pump()
    assert [(h.sequence, h.generation) for h in wire.headers(Kind.DATA)] == [(0, 1), (1, 1)]


def test_rail_that_reports_itself_up_is_not_believed(engine, wire):
    """A link that is back up is probed; only its peers' echoes and the damping time make it up."""
    engine.rail_event(up=False, now=5.0)
    engine.tick(6.0)
    assert wire.headers(Kind.PROBE) == []
    engine.rail_event(up=True, now=7.0)
    engine.tick(7.0)
    for probe in wire.headers(Kind.PROBE):
        assert engine.health.down() == [ME]
        (hop,) = probe.route
        echo = Header(Kind.ECHO, Nic(hop.node, 0), 0, (Hop(0, 0),), hop=1, sequence=probe.sequence)
        engine.arrived_by_rail(hop.node, Message(echo), 7.5)
    engine.tick(7.55)
    assert engine.health.down() == [ME]
    engine.tick(7.7)
    assert engine.health.down() == []
    assert engine.health.excluded() == [ME]
    assert engine.detections[-1].cause == "echo"


def test_echo_from_before_the_failure_proves_nothing(engine):
    """An echo that was asked for before the NIC failed, and is read only now, does not bring it back."""
    engine.liveness.progress(0.0)
    engine.tick(1.0)
    engine.rail_event(up=False, now=1.1)
    engine.rail_event(up=True, now=1.2)
    engine.arrived_by_rail(1, from_peer(Kind.ECHO, sequence=1), 1.3)
    engine.tick(3.0)
    assert engine.health.down() == [ME]


def test_resent_chunk_gets_a_fresh_buffer_while_the_old_one_is_pending(engine, wire):
    """A chunk whose first send is still pending is sent again from other memory, with the same bytes."""
    capture(engine)
    engine.sender(1).next_chunk()[1].buffer.payload[:8] = range(8)
    engine.pump()
    old = wire.by_rail[0][1].buffer
    old.pending = 1
    wire.clear()
    engine.rail_event(up=False, now=1.0)
    engine.pump()
    fresh = wire.handed[-1][1].buffer
    assert fresh is not old
    assert fresh.payload[:8].tolist() == list(range(8))
    assert engine.pool.quarantined == 1


def test_chunk_is_acknowledged_backwards(engine, wire):
    """A chunk that arrived is acknowledged with both counts, to the rank that sent it."""
    engine.arrived_by_rail(1, chunk_from_peer(engine, 0), 1.0)
    engine.pump()
    assert wire.by_rail == [(1, Message(Header(Kind.ACK, ME, 0, HOME, 1, landed=1)))]
    engine.receiver(1).consume()
    wire.clear()
    engine.pump()
    assert wire.by_rail == [(1, Message(Header(Kind.ACK, ME, 0, HOME, 1, landed=1, consumed=1)))]
    engine.pump()
    assert len(wire.by_rail) == 1


def test_acknowledgement_avoids_a_way_that_is_known_to_be_dead(engine, wire):
    """If a NIC on the chunk's way is down by now, the acknowledgement takes the best way there is."""
    engine.arrived_by_rail(1, chunk_from_peer(engine, 0), 1.0)
    engine.declare_down([PEER], 1.0)
    wire.clear()
    engine.pump()
    ((rail, ack),) = wire.handed
    assert (rail, ack.header.route) == (1, (Hop(1, 1),))
    assert wire.by_rail == []


def test_every_change_of_health_acknowledges_again(engine, wire):
    """After a change of health receivers repeat their acknowledgement: it may have died with the NIC."""
    engine.arrived_by_rail(1, chunk_from_peer(engine, 0), 1.0)
    engine.pump()
    engine.declare_down([Nic(2, 1)], 1.0)
    wire.clear()
    engine.pump()
    assert [header.landed for header in wire.headers(Kind.ACK)] == [1]


def test_dropped_chunk_gives_its_buffer_back(engine):
    """A chunk that is not the expected one is dropped, and its buffer is free."""
    message = chunk_from_peer(engine, 3)
    engine.arrived_by_rail(1, message, 1.0)
    assert engine.receiver(1).front() is None
    assert engine.pool.take() is message.buffer


def test_acknowledgement_frees_buffers(engine):
    """The buffers of landed chunks go back to the pool."""
    capture(engine)
    buffer = engine.sender(1).next_chunk()[1].buffer
    engine.pump()
    engine.arrived_by_rail(1, from_peer(Kind.ACK, landed=1, consumed=1), 1.0)
    assert engine.sender(1).is_consumed
    assert engine.pool.take() is buffer


@pytest.mark.parametrize(
    ("flags", "generation", "landed", "rewinds"),
    [
        (Flag.GAP, 0, 0, True),
        (Flag.PONG, 0, 0, True),
        (Flag.NONE, 0, 0, False),
        (Flag.GAP, 7, 0, False),
        (Flag.GAP, 0, 2, False),
    ],
    ids=["gap", "pong", "plain", "of another generation", "nothing missing"],
)
def test_a_loss_rewinds(engine, flags, generation, landed, rewinds):
    """A gap, or a ping's answer that lacks chunks, rewinds the channel if it is of the current generation."""
    capture(engine, chunks=2)
    engine.pump()
    ack = from_peer(Kind.ACK, flags=flags, generation=generation, landed=landed)
    engine.arrived_by_rail(1, ack, 1.0)
    assert (engine.sender(1).generation == 1) is rewinds


def test_pong_does_not_rewind_what_the_own_nic_still_holds(engine, wire):
    """Chunks that this rank's own NIC has not sent off yet are not lost."""
    capture(engine)
    engine.pump()
    wire.by_rail[0][1].buffer.pending = 1
    engine.arrived_by_rail(1, from_peer(Kind.ACK, flags=Flag.PONG), 1.0)
    assert engine.sender(1).generation == 0


def test_ping_is_answered(engine, wire):
    """A PING is answered with the counts, along the way it came, also when no chunk has ever arrived."""
    engine.arrived_by_rail(1, from_peer(Kind.PING, generation=5), 1.0)
    engine.pump()
    expected = Header(Kind.ACK, ME, 0, HOME, 1, flags=Flag.PONG, generation=5)
    assert wire.by_rail == [(1, Message(expected))]


def test_probe_is_echoed(engine, wire):
    """A PROBE is echoed at once over the same rail with its nonce."""
    engine.arrived_by_rail(1, from_peer(Kind.PROBE, sequence=9), 1.0)
    assert wire.by_rail == [(1, Message(Header(Kind.ECHO, ME, 0, HOME, 1, sequence=9)))]


def test_ask_is_answered_one_round_later(engine, wire):
    """An ASK is answered only after a further round of polling, with the count as it is then."""
    engine.arrived_locally(from_peer(Kind.ASK, route=(Hop(1, 1),), sequence=9), 1.0)
    engine.tick(1.0)
    assert wire.headers(Kind.ANSWER) == []
    engine.arrived_by_rail(1, from_peer(Kind.PING), 1.0)
    engine.tick(1.0 + 2 * TICK_S)
    ((rail, answer),) = wire.handed
    assert rail == 1
    assert answer.header == Header(Kind.ANSWER, ME, 0, (Hop(1, 1),), sequence=9, landed=1)
    engine.tick(2.0)
    assert len(wire.headers(Kind.ANSWER)) == 1
