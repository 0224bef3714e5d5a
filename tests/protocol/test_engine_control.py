"""The engine between ranks: probes, questions, news, signs of life."""

from __future__ import annotations

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.engine import TICK_S, Engine
from r2cc_mpi.protocol.header import Flag, Header, Kind
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.protocol.news import ErrorKind, News
from r2cc_mpi.protocol.settings import Settings
from tests.protocol.fakes import FakeWire, hear, hello, pass_time, report

ME = Nic(0, 0)
NODES, RAILS = 3, 2
SETTINGS = Settings(
    window=3, chunk_bytes=16, stall_s=0.5, probe_s=0.25, isolation_timeout_s=6.0, damping_s=0.1
)


@pytest.fixture
def wire():
    """Take what the engine sends."""
    return FakeWire()


@pytest.fixture
def engine(wire):
    """Make the engine of the leader."""
    return Engine(ME, NODES, RAILS, wire, SETTINGS)


def test_probe_is_echoed_on_the_same_rail(engine, wire):
    """A PROBE comes back over the rail that it came by, with its number."""
    probe = Header(Kind.PROBE, Nic(1, 0), 0, (Hop(0, 0),), hop=1, sequence=42)
    engine.arrived_by_rail(1, Message(probe), 1.0)
    ((node, message),) = wire.sent
    assert node == 1
    assert message.header == Header(Kind.ECHO, ME, 0, (Hop(0, 1),), hop=1, sequence=42)


def test_question_is_answered_after_another_round(engine, wire):
    """ASK is answered with the number of messages from the asker's node, after a further round of polling."""
    ask = Header(Kind.ASK, Nic(1, 0), 0, (Hop(1, 0),), hop=1, sequence=9)
    engine.tick(1.0)
    engine.arrived_locally(Message(ask), 1.0)
    for _ in range(3):
        engine.arrived_by_rail(1, Message(Header(Kind.PING, Nic(1, 0), 0, (Hop(0, 0),), hop=1)), 1.0)
    engine.tick(1.0 + TICK_S / 2)
    assert wire.take(Kind.ANSWER) == []
    engine.tick(1.0 + TICK_S)
    (answer,) = wire.take(Kind.ANSWER)
    assert (answer.sequence, answer.landed, answer.route) == (9, 3, (Hop(1, 1),))
    engine.tick(2.0)
    assert wire.take(Kind.ANSWER) == []


class TestNews:
    """What a rank learns it passes on, once."""

    def test_new_facts_are_passed_on_and_applied(self, engine, wire):
        """A NIC that a peer reports down is reported to all neighbours, and routes change."""
        channel = engine.sender(1)
        other = News(NODES, RAILS)
        report(other, Nic(1, 0))
        hear(engine, other)
        assert len(wire.take(Kind.NEWS)) == 2
        assert channel.route == (Hop(1, 1),)
        assert [(one.nic, one.version, one.at, one.cause) for one in engine.detections] == [
            (Nic(1, 0), 1, 1.0, "news")
        ]

    def test_known_facts_are_not(self, engine, wire):
        """News that teaches nothing is not passed on: flooding ends."""
        other = News(NODES, RAILS)
        report(other, Nic(1, 0))
        hear(engine, other)
        wire.take(Kind.NEWS)
        hear(engine, other)
        hear(engine, News(NODES, RAILS))
        assert wire.take(Kind.NEWS) == []
        assert len(engine.detections) == 1

    @pytest.mark.parametrize("cause", ["event", "declared"])
    def test_own_findings_are_flooded(self, engine, wire, cause):
        """What the rail itself reports, and what the user declares, spreads like any other news, once."""
        for _ in range(2):
            if cause == "event":
                engine.rail_event(up=False, now=2.0)
            else:
                engine.declare_down([ME], 2.0)
        assert [header.target_rail for header in wire.take(Kind.NEWS)] == [1]
        assert [(one.nic, one.cause) for one in engine.detections] == [(ME, cause)]

    def test_error_spreads(self, engine, wire):
        """A rank that gives up tells everyone, once."""
        engine.give_up(ErrorKind.MISMATCH, "why")
        engine.give_up(ErrorKind.MISMATCH, "why")
        assert len(wire.take(Kind.NEWS)) == 3


class TestHello:
    """Signs of life."""

    def test_new_hello_is_passed_on_once(self, engine, wire):
        """It goes to all neighbours with its origin and number, and only when it is new."""
        hello(engine, 5)
        passed = wire.take(Kind.HELLO)
        assert [(header.origin, header.sequence) for header in passed] == [(Nic(2, 1), 5)] * 3
        hello(engine, 5)
        hello(engine, 4)
        assert wire.take(Kind.HELLO) == []

    def test_rank_that_asks_is_answered(self, engine, wire):
        """Who hears a HELLO that asks says HELLO itself, and examines its NIC."""
        hello(engine, 5, flags=Flag.ASKING)
        everything = [message.header for _, message in (*wire.sent, *wire.handed)]
        own = [header for header in everything if header.kind is Kind.HELLO and header.origin == ME]
        assert len(own) == 3
        assert {header.flags for header in own} == {Flag.NONE}
        assert sum(header.kind is Kind.PROBE for header in everything) == 2

    def test_rank_that_stalls_asks(self, engine, wire):
        """A rank that waits without progress asks in each stall time, and examines its NIC."""
        engine.liveness.progress(0.0)
        pass_time(engine, 0.0, 0.5)
        assert wire.sent == wire.handed == []
        pass_time(engine, 0.52, 2.6)
        asked = [message.header for _, message in wire.handed if message.header.kind is Kind.HELLO]
        assert [header.sequence for header in asked] == [1, 2, 3, 4, 5]
        assert {header.flags for header in asked} == {Flag.ASKING}
        assert any(message.header.kind is Kind.PROBE for _, message in wire.sent)

    def test_rank_between_collectives_does_not_ask(self, engine, wire):
        """A rank that waits for nobody has no reason to ask."""
        engine.liveness.progress(0.0)
        engine.liveness.rest()
        pass_time(engine, 0.0, 20.0)
        assert wire.sent == wire.handed == []
        assert engine.news.error is None
