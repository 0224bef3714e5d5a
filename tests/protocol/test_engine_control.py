"""The engine between ranks: news, signs of life, verdicts, STARTs, closing."""

from __future__ import annotations

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.engine import TICK_S, Engine
from r2cc_mpi.protocol.header import Flag, Header, Kind
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.protocol.news import Closing, ErrorKind, News, Signature
from r2cc_mpi.protocol.settings import Settings
from tests.protocol.fakes import FakeWire, chunk, report

ME = Nic(0, 0)
FAR = Nic(2, 1)
NODES, RAILS = 3, 2
SETTINGS = Settings(
    window=3, chunk_bytes=16, stall_s=0.5, probe_s=0.25, isolation_timeout_s=6.0, damping_s=0.1
)
SIGNATURE = Signature(1, 10, 3, 0, 1)


@pytest.fixture
def wire():
    """Take what the engine sends."""
    return FakeWire()


@pytest.fixture
def engine(wire):
    """Make the engine of the leader."""
    return Engine(ME, NODES, RAILS, wire, SETTINGS)


def hear(engine: Engine, news: News, now: float = 1.0) -> None:
    """Let news of node 1 arrive over the rail."""
    engine.arrived_by_rail(1, Message(Header(Kind.NEWS, Nic(1, 0), 0), news.pack()), now)


def hello(
    engine: Engine, number: int, *, flags: Flag = Flag.NONE, origin: Nic = FAR, now: float = 1.0
) -> None:
    """Let a HELLO arrive over the rail, passed on by node 1."""
    header = Header(Kind.HELLO, origin, 0, flags=flags, sequence=number)
    engine.arrived_by_rail(1, Message(header, News(NODES, RAILS).pack()), now)


def pass_time(engine: Engine, begin: float, end: float) -> None:
    """Look at the timers again and again."""
    for tick in range(int(begin / 0.02), int(end / 0.02) + 1):
        engine.tick(tick * 0.02)


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


class TestPing:
    """A channel that does not get on asks its receiver."""

    def pings(self, engine: Engine, wire: FakeWire, end: float) -> list[float]:
        """Say when pings were sent."""
        times = []
        for tick in range(int(end / 0.02)):
            engine.tick(tick * 0.02)
            times += [tick * 0.02] * len(wire.take(Kind.PING))
        return times

    def test_patience_doubles(self, engine, wire):
        """The first ping comes after the stall time; the wait doubles up to eight times."""
        engine.sender(1).capture(chunk(), 0.0)
        engine.pump()
        times = self.pings(engine, wire, 20.0)
        waits = [after - before for before, after in zip([0.0, *times], times, strict=False)]
        assert waits == pytest.approx([0.5, 1.0, 2.0, 4.0, 4.0, 4.0, 4.0], abs=0.05)

    def test_progress_resets_it(self, engine, wire):
        """After progress the receiver is asked after the stall time again."""
        channel = engine.sender(1)
        for _ in range(2):
            channel.capture(chunk(), 0.0)
        engine.pump()
        self.pings(engine, wire, 1.0)
        channel.acknowledge(1, 0, 1.0)
        assert (channel.pings, channel.progress_at) == (0, 1.0)

    def test_landed_chunks_are_no_reason_to_ask_everybody(self, engine, wire):
        """A receiver that has everything and only computes is pinged, and nothing else is suspected."""
        channel = engine.sender(1)
        channel.capture(chunk(), 0.0)
        engine.pump()
        channel.acknowledge(1, 0, 0.0)
        wire.take(Kind.DATA)
        pass_time(engine, 0.0, 3.0)
        assert {message.header.kind for _, message in (*wire.sent, *wire.handed)} == {Kind.PING}


class TestGivingUp:
    """Silence by any route for the isolation timeout ends a collective."""

    def test_silent_ranks_are_named(self, engine, wire):
        """The rank that gives up names who did not answer, and tells everyone."""
        engine.liveness.progress(0.0)
        for tick in range(int(6.2 / 0.02)):
            now = tick * 0.02
            engine.tick(now)
            if tick % 20 == 0:
                for rank in (1, 2, 3):
                    hello(engine, tick + 1, origin=Nic(*divmod(rank, RAILS)), now=now)
        error = engine.news.error
        assert error is not None
        assert error.kind is ErrorKind.ISOLATED
        assert "from node 2;" in error.text
        assert wire.take(Kind.NEWS)

    def test_pause_of_this_process_does_not_count(self, engine):
        """A rank that was stopped itself listens again for the whole timeout."""
        engine.liveness.progress(0.0)
        engine.tick(0.0)
        engine.tick(30.0)
        pass_time(engine, 30.02, 35.0)
        assert engine.news.error is None
        pass_time(engine, 35.02, 36.2)
        assert engine.news.error is not None


class TestStart:
    """The leader's word that a collective begins."""

    def test_leader_floods_start_with_its_health(self, engine, wire):
        """START carries number, signature and health vector; saying it twice changes nothing."""
        engine.declare_down([Nic(1, 1)], 0.0)
        wire.take(Kind.NEWS)
        engine.lead(1, SIGNATURE)
        assert len(wire.take(Kind.NEWS)) == 3
        engine.lead(1, SIGNATURE)
        assert wire.take(Kind.NEWS) == []
        start = engine.start_of(1)
        assert start is not None
        assert start == (1, SIGNATURE, (0, 0, 0, 1, 0, 0))
        assert engine.start_of(2) is None

    def test_start_readmits_and_channels_go_home(self, engine):
        """A NIC that came back is used again from the START on that agrees on it."""
        channel = engine.sender(1)
        other = News(NODES, RAILS)
        report(other, Nic(1, 0))
        hear(engine, other)
        report(other, Nic(1, 0), up=True)
        hear(engine, other)
        assert channel.route == (Hop(1, 1),)
        engine.lead(1, SIGNATURE)
        start = engine.start_of(1)
        assert start is not None
        engine.enter(start, 2.0)
        assert channel.route == (Hop(0, 1),)

    def test_start_teaches_health(self, engine):
        """A rank that has not heard of a failure yet learns it from the START's vector."""
        other = Engine(Nic(1, 0), NODES, RAILS, FakeWire(), SETTINGS)
        other.declare_down([Nic(2, 0)], 0.0)
        other.lead(1, SIGNATURE)
        start = other.start_of(1)
        assert start is not None
        channel = engine.sender(2)
        engine.enter(start, 2.0)
        assert channel.route == (Hop(1, 2),)


def test_recovered_nic_is_offered_by_its_owner(engine, wire):
    """The owner probes over its dead NIC, waits the damping time after an echo, and tells everyone."""
    engine.declare_down([ME], 0.0)
    engine.tick(1.0)
    (probe, _) = wire.take(Kind.PROBE)
    echo = Header(Kind.ECHO, Nic(1, 0), 0, (Hop(0, 0),), hop=1, sequence=probe.sequence)
    engine.arrived_by_rail(1, Message(echo), 1.1)
    engine.tick(1.15)
    assert not engine.health.is_up(ME)
    engine.tick(1.25)
    assert engine.health.is_up(ME)
    assert (engine.detections[-1].nic, engine.detections[-1].cause) == (ME, "echo")
    assert len(wire.take(Kind.NEWS)) == 3


def test_rank_that_needs_nobody_asks_nobody_and_never_gives_up(engine, wire):
    """A rank that knows everyone to be done stays for those that ask, and its own wait is no complaint."""
    engine.closing.ask()
    engine.liveness.progress(0.0)
    other = News(NODES, RAILS)
    for rank in range(1, NODES * RAILS):
        other.add_closing(rank, Closing.DONE)
    hear(engine, other, now=0.0)
    engine.tick(0.02)
    assert engine.news.closing[0] is Closing.ALL_DONE
    wire.take(Kind.NEWS)
    for tick in range(2, 1000):
        engine.tick(tick * 0.02)
        if tick % 40 == 0:
            hello(engine, tick, flags=Flag.ASKING, now=tick * 0.02)
            assert not engine.closing.may_leave(tick * 0.02)
    asked = [header for header in wire.take(Kind.HELLO) if header.origin == ME and header.flags & Flag.ASKING]
    assert asked == []
    assert engine.news.error is None
    assert engine.closing.may_leave(1000 * 0.02 + 2 * SETTINGS.stall_s)
