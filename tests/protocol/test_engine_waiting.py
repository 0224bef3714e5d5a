"""The engine over time: stalls, giving up, STARTs, recovery, closing."""

from __future__ import annotations

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.engine import Engine
from r2cc_mpi.protocol.header import Flag, Header, Kind
from r2cc_mpi.protocol.network import Message
from r2cc_mpi.protocol.news import Closing, ErrorKind, News, Signature
from r2cc_mpi.protocol.settings import Settings
from tests.protocol.fakes import FakeWire, chunk, hear, hello, pass_time, report

ME = Nic(0, 0)
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
    """The owner probes over its dead NIC, waits the damping time after all echoes, and tells everyone."""
    engine.declare_down([ME], 0.0)
    engine.tick(1.0)
    probe, _ = wire.take(Kind.PROBE)
    for node in (1, 2):
        echo = Header(Kind.ECHO, Nic(node, 0), 0, (Hop(0, 0),), hop=1, sequence=probe.sequence)
        engine.arrived_by_rail(node, Message(echo), 1.1)
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
    assert engine.closing.may_leave(1000 * 0.02 + SETTINGS.isolation_timeout_s)


@pytest.mark.parametrize(("others", "probes"), [(Closing.DONE, True), (Closing.ALL_DONE, False)])
def test_a_dead_nic_is_not_probed_when_all_may_leave(engine, wire, others, probes):
    """As long as one rank may still need this one, the way back is looked for; then nobody may be there."""
    engine.declare_down([ME], 0.0)
    engine.closing.ask()
    other = News(NODES, RAILS)
    for rank in range(1, NODES * RAILS):
        other.add_closing(rank, others)
    hear(engine, other)
    engine.tick(0.02)
    assert engine.closing.may_leave(0.02) is not probes
    wire.take(Kind.PROBE)
    for tick in range(2, 100):
        engine.tick(tick * 0.02)
    assert bool(wire.take(Kind.PROBE)) is probes
