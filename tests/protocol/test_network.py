from __future__ import annotations

from itertools import pairwise

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.buffers import BufferPool
from r2cc_mpi.protocol.header import Header, Kind, reversed_route
from r2cc_mpi.protocol.network import Message
from tests.protocol.fakes import ORIGIN, buffer, network, report

RELAYED = (Hop(1, 2), Hop(0, 1))
"""From node 0 over rail 1 to node 2, and from there over rail 0 to node 1."""


def ask(route, target_rail=1, origin=ORIGIN, hop=0) -> Message:
    """Make a control message."""
    return Message(Header(Kind.ASK, origin, target_rail, route, hop))


def test_own_rail_is_used_directly():
    """A message whose next hop is over this rank's rail leaves there, one hop further."""
    net, wire, _ = network(Nic(0, 0))
    assert net.send(ask((Hop(0, 2),)))
    assert [(node, message.header.hop) for node, message in wire.sent] == [(2, 1)]
    assert wire.handed == []


def test_other_rails_are_reached_through_their_owner():
    """A message whose next hop is over a neighbour's rail is handed over as it is."""
    net, wire, _ = network(Nic(0, 0))
    assert net.send(ask(RELAYED))
    assert [(rail, message.header.hop) for rail, message in wire.handed] == [(1, 0)]
    assert wire.sent == []


def test_message_passes_owners_and_relays_to_its_target():
    """A message passes: origin, first rail's owner, relay, second rail's owner, the target's, target."""
    stations = [Nic(0, 0), Nic(0, 1), Nic(2, 1), Nic(2, 0), Nic(1, 0), Nic(1, 1)]
    message = ask(RELAYED)
    for here, after in pairwise(stations):
        net, wire, _ = network(here)
        if here == message.header.origin:
            net.send(message)
        elif message.header.hop and here.rail == message.header.route[message.header.hop - 1].rail:
            assert net.arrived_by_rail(0, message) is None
        else:
            assert net.arrived_locally(message) is None
        ways = [(Nic(node, here.rail), sent) for node, sent in wire.sent]
        ways += [(Nic(here.node, rail), handed) for rail, handed in wire.handed]
        ((reached, message),) = ways
        assert reached == after
    net, wire, _ = network(stations[-1])
    assert net.arrived_locally(message) is message
    assert message.header.hop == 2
    assert wire.sent == wire.handed == []


def test_message_for_this_rank_is_returned():
    """What ends here for this rail is kept; what ends here for another rail is handed over."""
    net, wire, _ = network(Nic(1, 0))
    own = ask((Hop(0, 1),), target_rail=0, hop=1)
    assert net.arrived_by_rail(0, own) is own
    other = ask((Hop(0, 1),), target_rail=1, hop=1)
    assert net.arrived_by_rail(0, other) is None
    assert wire.handed == [(1, other)]


def test_arrivals_over_the_rail_are_counted_by_sender():
    """Every message that came over the rail counts, whatever becomes of it; hand-overs do not."""
    net, _, _ = network(Nic(1, 0))
    net.arrived_by_rail(0, ask((Hop(0, 1),), target_rail=0, hop=1))
    net.arrived_by_rail(2, ask((Hop(0, 1), Hop(1, 2)), hop=1))
    net.arrived_by_rail(2, ask((Hop(0, 1),), target_rail=0, hop=1))
    net.arrived_locally(ask((), target_rail=0, origin=Nic(1, 1)))
    assert net.received_from == [1, 0, 2]


@pytest.mark.parametrize("has_room", [True, False])
def test_relay_passes_a_chunk_on_or_drops_it(has_room):
    """A relay without room for a chunk drops it and counts; the buffer comes back either way."""
    pool = BufferPool(16)
    net, wire, _ = network(Nic(2, 1), pool=pool)
    wire.has_room = has_room
    relayed = Message(Header(Kind.DATA, Nic(0, 0), 0, RELAYED, hop=1, length=8), buffer=buffer())
    assert net.arrived_by_rail(0, relayed) is None
    assert len(wire.handed) == has_room
    assert net.dropped_chunks == (not has_room)
    assert pool.take() is relayed.buffer


def test_relay_keeps_the_buffer_that_its_rail_still_reads():
    """A relay's buffer waits in quarantine while the send is pending."""
    pool = BufferPool(16)
    net, _, _ = network(Nic(2, 0), pool=pool)
    held = buffer()
    held.pending = 1
    relayed = Message(Header(Kind.DATA, Nic(0, 0), 0, RELAYED, hop=1, length=8), buffer=held)
    assert net.arrived_locally(relayed) is None
    assert pool.quarantined == 1
    assert net.dropped_chunks == 0


def test_refused_chunk_is_reported_to_its_sender():
    """A chunk for which the neighbour has no room was not sent; a control message always finds room."""
    net, wire, _ = network(Nic(0, 0))
    wire.has_room = False
    header = Header(Kind.DATA, Nic(0, 0), 0, RELAYED, length=8)
    assert not net.send(Message(header, buffer=buffer()))
    assert net.send(ask(RELAYED))
    assert net.dropped_chunks == 0


@pytest.mark.parametrize("route", [(), (Hop(0, 1),), RELAYED])
def test_reply_retraces_the_route(route):
    """An answer goes back the way the request came, to the rank that asked, from the rank that answers."""
    me = Nic(route[-1].node if route else 0, 1)
    net, wire, _ = network(me)
    request = Header(Kind.ASK, Nic(0, 0), me.rail, route, hop=len(route))
    net.reply(request, Header(Kind.ANSWER, Nic(9, 9), 9, landed=5), b"body")
    ((_, answer),) = wire.sent + wire.handed
    assert answer.body == b"body"
    expected = Header(
        Kind.ANSWER, me, 0, reversed_route(Nic(0, 0), route), answer.header.hop, landed=5, length=4
    )
    assert answer.header == expected


class TestFlood:
    """A flooded message goes one hop to every neighbour; whoever learns from it floods in turn."""

    HELLO = Header(Kind.HELLO, Nic(1, 1), 7, sequence=3)

    def test_reaches_all_neighbours(self):
        """The node's other ranks and the peers on this rail, each with a header for itself."""
        net, wire, _ = network(Nic(1, 0), nodes=3, rails=3)
        net.flood(self.HELLO, b"facts")
        assert [rail for rail, _ in wire.handed] == [1, 2]
        assert [node for node, _ in wire.sent] == [0, 2]
        for rail, message in wire.handed:
            assert message.header == self.HELLO._replace(target_rail=rail, length=5)
        for _, message in wire.sent:
            assert message.header == self.HELLO._replace(target_rail=0, length=5)
            assert message.body == b"facts"

    def test_arrives_as_a_message_for_the_neighbour(self):
        """A neighbour takes a flooded message as its own and does not route it."""
        net, wire, _ = network(Nic(1, 0))
        net.flood(self.HELLO, b"facts")
        (_, by_rail), (_, by_hand) = wire.sent[0], wire.handed[0]
        for here, message in ((Nic(0, 0), by_rail), (Nic(1, 1), by_hand)):
            other, other_wire, _ = network(here)
            assert other.arrived_locally(message) is message
            assert other_wire.sent == other_wire.handed == []

    def test_avoids_dead_nics(self):
        """Peers whose NIC is down are left out; a rank whose own NIC is down tells its node only."""
        net, wire, news = network(Nic(1, 0))
        report(news, Nic(2, 0))
        report(news, Nic(0, 1))
        net.flood(self.HELLO, b"")
        assert [node for node, _ in wire.sent] == [0]
        wire.sent.clear()
        report(news, Nic(1, 0))
        net.flood(self.HELLO, b"")
        assert wire.sent == []
        assert [rail for rail, _ in wire.handed] == [1, 1]
