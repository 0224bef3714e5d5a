from __future__ import annotations

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.header import Flag, Header, Kind
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.protocol.news import Closing, ErrorFact, ErrorKind, News, Signature, Start
from tests.protocol.wires import HOME, ME, PEER, SETTINGS, RecordingWire, capture, from_peer

SIGNATURE = Signature(1, 100, 3, 0, 1)


@pytest.fixture
def wire():
    """What the engine sends."""
    return RecordingWire()


@pytest.fixture
def engine(wire):
    """The engine of node 0 rail 0, among 3 nodes with 2 rails."""
    return Engine(ME, 3, 2, wire, SETTINGS)


def news_with(**facts):
    """Pack news that say something new; the facts are named by the methods of News."""
    news = News(3, 2)
    for name, arguments in facts.items():
        getattr(news, name)(*arguments)
    return news.pack()


def test_news_are_passed_on_once_and_applied(engine, wire):
    """What is new is flooded and acted upon; the same news again are neither."""
    body = news_with(add_health=[[1, 0, 0, 0, 0, 0]])
    capture(engine)
    engine.arrived_locally(Message(Header(Kind.NEWS, Nic(0, 1), 0), body), 2.0)
    assert [rail for rail, _ in wire.handed] == [1]
    assert engine.sender(1).route == (Hop(1, 1),)
    assert engine.detections[0].cause == "news"
    wire.clear()
    engine.arrived_locally(Message(Header(Kind.NEWS, Nic(0, 1), 0), body), 3.0)
    assert wire.all_headers() == []


def test_hello_is_passed_on_answered_and_makes_examine(engine, wire):
    """An asking HELLO is flooded further, answered by an own one, and begins an examination; once."""
    hello = Message(Header(Kind.HELLO, Nic(2, 1), 0, flags=Flag.ASKING, sequence=1), news_with())
    engine.arrived_locally(hello, 1.0)
    said = {(header.origin, header.flags) for header in wire.headers(Kind.HELLO)}
    assert said == {(Nic(2, 1), Flag.ASKING), (ME, Flag.NONE)}
    assert len(wire.headers(Kind.PROBE)) == 2
    wire.clear()
    engine.arrived_locally(hello, 2.0)
    assert wire.all_headers() == []


def test_answering_hello_is_only_passed_on(engine, wire):
    """A HELLO that answers another one asks for nothing."""
    hello = Message(Header(Kind.HELLO, Nic(2, 1), 0, sequence=1), news_with())
    engine.arrived_locally(hello, 1.0)
    assert {(header.kind, header.origin) for header in wire.all_headers()} == {(Kind.HELLO, Nic(2, 1))}


def test_start_is_flooded_and_known(engine, wire):
    """The leader's START tells the signature and the health it knows, and is told once."""
    engine.declare_down([Nic(1, 1)], 0.0)
    wire.clear()
    assert engine.start_of(1) is None
    engine.lead(1, SIGNATURE)
    assert engine.start_of(1) == Start(1, SIGNATURE, (0, 0, 0, 1, 0, 0))
    assert len(wire.headers(Kind.NEWS)) == 3
    engine.lead(1, SIGNATURE)
    assert len(wire.headers(Kind.NEWS)) == 3


def test_start_takes_the_short_way_while_all_is_well(engine, wire):
    """A START that came over the rail is told to the node alone; one from the node to nobody."""
    body = news_with(add_start=[Start(1, SIGNATURE, (0,) * 6)])
    engine.arrived_by_rail(1, Message(Header(Kind.NEWS, PEER, 0), body), 1.0)
    assert engine.start_of(1) is not None
    assert [rail for rail, _ in wire.handed] == [1]
    assert len(wire.all_headers()) == 1
    wire.clear()
    body = news_with(add_start=[Start(2, SIGNATURE, (0,) * 6)])
    engine.arrived_locally(Message(Header(Kind.NEWS, Nic(0, 1), 0), body), 2.0)
    assert engine.start_of(2) is not None
    assert wire.all_headers() == []


def test_start_is_flooded_where_a_nic_is_down(engine, wire):
    """The short way may be cut, so everybody passes a START on."""
    engine.declare_down([Nic(2, 1)], 0.0)
    wire.clear()
    body = news_with(add_health=[[0, 0, 0, 0, 0, 1]], add_start=[Start(1, SIGNATURE, (0, 0, 0, 0, 0, 1))])
    engine.arrived_locally(Message(Header(Kind.NEWS, Nic(0, 1), 0), body), 1.0)
    assert len(wire.headers(Kind.NEWS)) == 3


def test_enter_admits_what_came_back(engine):
    """A NIC that came back carries its channels again from the START on that agrees on it."""
    capture(engine)
    engine.declare_down([PEER], 0.0)
    assert engine.sender(1).route == (Hop(1, 1),)
    versions = (0, 0, 2, 0, 0, 0)
    engine.enter(Start(1, SIGNATURE, versions), 1.0)
    assert engine.health.excluded() == []
    assert engine.sender(1).route == HOME


def test_enter_leaves_a_busy_channel_where_it_is(engine):
    """A channel with chunks on their way goes back only once they have landed."""
    engine.declare_down([PEER], 0.0)
    capture(engine)
    engine.pump()
    engine.enter(Start(1, SIGNATURE, (0, 0, 2, 0, 0, 0)), 1.0)
    assert engine.sender(1).route == (Hop(1, 1),)
    engine.arrived_locally(from_peer(Kind.ACK, route=(Hop(1, 1),), landed=1), 2.0)
    assert engine.sender(1).route == HOME


def test_stalled_channel_asks(engine, wire):
    """A channel without progress for the stall time pings, says HELLO and examines, and blames nobody."""
    capture(engine, now=1.0)
    engine.pump()
    wire.clear()
    engine.tick(1.0 + SETTINGS.stall_s)
    assert wire.all_headers() == []
    engine.tick(1.1 + SETTINGS.stall_s)
    assert len(wire.headers(Kind.PING)) == 1
    assert {header.flags for header in wire.headers(Kind.HELLO)} == {Flag.ASKING}
    assert len(wire.headers(Kind.PROBE)) == 2
    assert engine.health.down() == []


def test_pings_become_rarer(engine, wire):
    """Each ping without progress doubles the wait for the next one, up to eight stall times."""
    capture(engine, now=0.0)
    engine.pump()
    pinged = []
    for tick in range(1, 3000):
        before = len(wire.headers(Kind.PING))
        engine.tick(tick * 0.0125)
        if len(wire.headers(Kind.PING)) > before:
            pinged.append(tick * 0.0125)
        wire.clear()
    waits = [round(2 * (after - at)) for at, after in zip([0.0, *pinged], pinged, strict=False)]
    assert waits[:6] == [1, 2, 4, 8, 8, 8]


def test_silence_on_all_routes_gives_up(engine, wire):
    """A rank that hears from nobody for the isolation timeout floods an error that names who is silent."""
    engine.liveness.progress(0.0)
    engine.tick(0.0)
    for tick in range(1, 44):
        engine.tick(tick * 0.1)
    assert engine.news.error is not None
    assert engine.news.error.kind is ErrorKind.ISOLATED
    assert "rank 1 (node 0 rail 1), rank 2 (node 1 rail 0)" in engine.news.error.text
    assert wire.headers(Kind.NEWS)


def test_pause_of_the_process_is_no_silence(engine):
    """A rank that did not run for a long time does not conclude that the others are gone."""
    engine.liveness.progress(0.0)
    engine.tick(0.0)
    engine.tick(100.0)
    assert engine.news.error is None


def test_give_up_tells_everyone_once(engine, wire):
    """An error is flooded when it is new."""
    engine.give_up(ErrorKind.MISMATCH, "calls differ")
    assert engine.news.error == ErrorFact(ErrorKind.MISMATCH, "calls differ")
    assert len(wire.headers(Kind.NEWS)) == 3
    engine.give_up(ErrorKind.MISMATCH, "calls differ")
    assert len(wire.headers(Kind.NEWS)) == 3


def test_done_is_flooded(engine, wire):
    """A rank that wants to leave tells so once its chunks are consumed."""
    capture(engine, now=1.0)
    engine.pump()
    engine.closing.ask()
    engine.tick(1.0)
    assert wire.headers(Kind.NEWS) == []
    engine.arrived_by_rail(1, from_peer(Kind.ACK, landed=1, consumed=1), 1.1)
    engine.tick(1.2)
    assert len(wire.headers(Kind.NEWS)) == 3
    assert engine.news.closing[0] is Closing.DONE
