from __future__ import annotations

from collections.abc import Collection

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.header import Header, Kind
from r2cc_mpi.protocol.recovery import FIRST_NUMBER, MAX_DAMPING_DOUBLINGS, Recovery
from tests.protocol.fakes import network, report

ME = Nic(1, 0)
INTERVAL_S, DAMPING_S = 0.5, 0.1


class Owner:
    """A NIC's owner that cares for it."""

    def __init__(self, flaps: int = 0) -> None:
        self.network, self.wire, self.news = network(ME)
        self.recovery = Recovery(ME, self.news.health, self.network, INTERVAL_S, DAMPING_S)
        for _ in range(flaps):
            report(self.news, ME)
            report(self.news, ME, up=True)

    def fail(self) -> None:
        """Let the NIC go down."""
        report(self.news, ME)
        self.recovery.lost_again()

    def echo(self, now: float, nodes: Collection[int] = (0, 2)) -> None:
        """Let peers echo probes that are sent at once."""
        self.recovery._probed_at = float("-inf")
        self.recovery.tick(now)
        for probe in self.wire.take(Kind.PROBE):
            if probe.route[0].node in nodes:
                self.recovery.echo(echo_of(probe), now)


def echo_of(probe: Header) -> Header:
    """Answer a probe as its target does."""
    return Header(Kind.ECHO, Nic(probe.route[0].node, ME.rail), ME.rail, sequence=probe.sequence)


def test_nic_that_is_up_is_left_alone():
    """Nothing is probed or declared while the NIC is up, whatever echoes."""
    owner = Owner()
    owner.recovery.echo(Header(Kind.ECHO, Nic(0, 0), 0, sequence=FIRST_NUMBER + 99), 0.0)
    assert not owner.recovery.tick(10.0)
    assert owner.wire.sent == []
    owner.fail()
    assert not owner.recovery.tick(10.0)


def test_peers_are_probed_over_the_rail_at_intervals():
    """Every peer gets a probe over the very rail, one each interval."""
    owner = Owner()
    owner.fail()
    times = []
    for tenth in range(20):
        owner.recovery.tick(tenth / 10)
        probes = owner.wire.take(Kind.PROBE)
        if probes:
            times.append(tenth)
            assert [probe.route for probe in probes] == [(Hop(0, 0),), (Hop(0, 2),)]
    assert times == [0, 5, 10, 15]


def test_nothing_is_probed_without_a_carrier():
    """While the rail reports no carrier there is nothing to probe, and nothing to declare."""
    owner = Owner()
    owner.fail()
    owner.recovery.carrier = False
    assert not owner.recovery.tick(10.0)
    assert owner.wire.sent == []


@pytest.mark.parametrize("flaps", [0, 1, 2, 3, 7])
def test_damping_doubles_with_every_flap(flaps):
    """The wait between echo and declaration is the damping time, twice as long for each earlier failure."""
    owner = Owner(flaps)
    owner.fail()
    owner.echo(100.0)
    wait_s = DAMPING_S * 2**flaps
    assert not owner.recovery.tick(100.0 + wait_s * 0.99)
    assert owner.recovery.tick(100.0 + wait_s)


def test_damping_stops_to_double():
    """A NIC that has flapped very often is offered again after a bounded time."""
    owner = Owner(MAX_DAMPING_DOUBLINGS + 5)
    owner.fail()
    owner.echo(0.0)
    assert owner.recovery.tick(DAMPING_S * 2**MAX_DAMPING_DOUBLINGS)


def test_only_the_first_echo_starts_the_clock():
    """Further echoes do not put the declaration off, and there is no need for further probes."""
    owner = Owner()
    owner.fail()
    owner.echo(1.0)
    owner.recovery.echo(Header(Kind.ECHO, Nic(0, 0), 0, sequence=FIRST_NUMBER + 99), 1.09)
    assert owner.recovery.tick(1.1)
    assert owner.wire.sent == []


def test_failure_while_waiting_starts_over():
    """A report that the NIC is down makes earlier echoes worthless."""
    owner = Owner()
    owner.fail()
    owner.echo(1.0)
    owner.recovery.lost_again()
    assert not owner.recovery.tick(2.0)
    assert owner.wire.take(Kind.PROBE)
    owner.echo(2.5)
    assert owner.recovery.tick(2.6)


def test_echo_of_an_earlier_probe_is_no_proof():
    """The echo of a probe that was sent before the last failure does not count."""
    owner = Owner()
    owner.fail()
    owner.recovery.tick(1.0)
    earlier = owner.wire.take(Kind.PROBE)
    owner.recovery.lost_again()
    for probe in earlier:
        owner.recovery.echo(echo_of(probe), 1.2)
    assert not owner.recovery.tick(3.0)
    for probe in owner.wire.take(Kind.PROBE):
        owner.recovery.echo(echo_of(probe), 3.1)
    assert not owner.recovery.tick(3.1)
    assert owner.recovery.tick(3.3)


def test_every_peer_has_to_echo():
    """While one peer's echo is missing the NIC stays down, and peers are probed on."""
    owner = Owner()
    owner.fail()
    owner.echo(1.0, nodes=[0])
    assert not owner.recovery.tick(9.0)
    assert owner.wire.take(Kind.PROBE)
    owner.echo(10.0, nodes=[2])
    assert not owner.recovery.tick(10.0 + DAMPING_S * 0.99)
    assert owner.recovery.tick(10.0 + DAMPING_S)


def test_peer_whose_own_nic_is_down_is_not_waited_for():
    """Its echo cannot be expected; if all are down, one echo of any of them does."""
    owner = Owner()
    owner.fail()
    owner.echo(1.0, nodes=[0])
    report(owner.news, Nic(2, 0))
    assert not owner.recovery.tick(1.0)
    assert owner.recovery.tick(1.0 + DAMPING_S)
    owner = Owner()
    owner.fail()
    report(owner.news, Nic(0, 0))
    report(owner.news, Nic(2, 0))
    assert not owner.recovery.tick(1.0)
    owner.echo(2.0, nodes=[2])
    assert owner.recovery.tick(2.0 + DAMPING_S)


def test_echo_of_an_examination_is_no_proof():
    """Examinations of a NIC number their probes otherwise."""
    owner = Owner()
    owner.fail()
    for node in (0, 2):
        owner.recovery.echo(Header(Kind.ECHO, Nic(node, 0), 0, sequence=7), 1.0)
    assert not owner.recovery.tick(2.0)
