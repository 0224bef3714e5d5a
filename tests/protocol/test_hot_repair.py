from __future__ import annotations

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.channel import SendChannel
from r2cc_mpi.protocol.header import MAX_HOPS
from r2cc_mpi.protocol.health import HealthTable
from r2cc_mpi.protocol.hot_repair import Failover, HotRepair, nics_on
from tests.protocol.fakes import chunk

ME = Nic(0, 0)


class Setting:
    """One rank's channels to node 1 and 2, with chunks on their way, and what it knows of NICs."""

    def __init__(self, nodes: int = 3, rails: int = 3) -> None:
        self.health = HealthTable(nodes, rails)
        self.channels = {target: SendChannel(target, 3) for target in (1, 2)}
        self.repair = HotRepair(ME, self.health, self.channels)
        for channel in self.channels.values():
            channel.route = self.repair.best_route(channel.target)
            for _ in range(3):
                channel.capture(chunk(), 0.0)
            channel.was_sent()
            channel.was_sent()

    def report(self, *nics: Nic, up: bool = False, now: float = 5.0) -> None:
        """Let the rank learn that NICs are down, or up again."""
        changes = [change for nic in nics for change in self.health.merge(self.health.raised(nic, up=up))]
        self.repair.repair(changes, now)


def test_channel_moves_to_the_next_rail_of_the_backup_chain():
    """A channel whose target lost the home rail continues over the next one from what had landed."""
    setting = Setting()
    setting.channels[1].acknowledge(1, 0, 1.0)
    setting.report(Nic(1, 0))
    channel = setting.channels[1]
    assert channel.route == (Hop(1, 1),)
    assert (channel.sent, channel.landed, channel.generation, channel.progress_at) == (1, 1, 1, 5.0)
    assert setting.repair.failovers == [Failover(Nic(1, 0), 0, 0, 1, (Hop(1, 1),), 5.0, 1, 8)]


def test_other_channels_stay_where_they_are():
    """A channel whose route is intact is neither moved nor rewound."""
    setting = Setting()
    setting.report(Nic(1, 0))
    assert setting.channels[2].route == (Hop(0, 2),)
    assert (setting.channels[2].sent, setting.channels[2].generation) == (2, 0)


def test_own_nic_moves_all_channels():
    """When the rank's own NIC dies, all its channels move."""
    setting = Setting()
    setting.report(ME)
    assert {channel.route for channel in setting.channels.values()} == {(Hop(1, 1),), (Hop(1, 2),)}
    assert [failover.nic for failover in setting.repair.failovers] == [ME, ME]


def test_failures_in_a_row_walk_along_the_chain():
    """Each further failure moves the channel to the next rail, until none is left."""
    setting = Setting()
    routes = []
    for rail in range(3):
        setting.report(Nic(1, rail))
        routes.append(setting.channels[1].route)
    assert routes == [(Hop(1, 1),), (Hop(2, 1),), None]
    assert [failover.route for failover in setting.repair.failovers] == routes


def test_relay_is_used_when_no_rail_is_common():
    """Two nodes that share no live rail are connected through a third one."""
    setting = Setting(rails=2)
    setting.report(Nic(0, 0), Nic(1, 1))
    assert setting.channels[1].route == (Hop(1, 2), Hop(0, 1))


def test_failure_of_a_relay_moves_the_channel():
    """A relay's NIC is part of the route: when it dies, so does the route."""
    setting = Setting(nodes=4, rails=2)
    setting.report(Nic(0, 0), Nic(1, 1))
    setting.report(Nic(2, 0))
    assert setting.channels[1].route == (Hop(1, 3), Hop(0, 1))
    assert [failover.nic for failover in setting.repair.failovers if failover.target == 1][-1] == Nic(2, 0)


def test_channel_without_a_route_takes_the_first_that_opens():
    """A channel that was cut off goes on as soon as a NIC comes back, even before the next START."""
    setting = Setting(rails=1)
    setting.report(Nic(1, 0))
    assert setting.channels[1].route is None
    setting.report(Nic(1, 0), up=True)
    assert setting.channels[1].route == (Hop(0, 1),)
    assert setting.channels[1].sent == 0


def test_unnoticed_flap_rewinds():
    """A NIC that went down and came back before this rank heard of it may have lost chunks."""
    setting = Setting()
    versions = list(setting.health.versions)
    versions[3] = 2
    setting.repair.repair(setting.health.merge(versions), 5.0)
    assert setting.channels[1].route == (Hop(1, 1),)
    assert setting.channels[1].sent == 0


def test_recovered_nic_is_preferred_only_when_it_is_admitted():
    """A NIC that is up again carries nothing before a START admits it, if there is another way."""
    setting = Setting()
    setting.report(Nic(1, 0))
    setting.report(Nic(1, 0), up=True)
    assert setting.repair.best_route(1) == (Hop(1, 1),)
    setting.health.admit(list(setting.health.versions))
    assert setting.repair.best_route(1) == (Hop(0, 1),)


def test_recovered_nic_is_used_when_there_is_no_other_way():
    """Rather than give up, a rank uses a NIC that is up and not admitted."""
    setting = Setting(rails=2)
    setting.report(Nic(1, 0))
    setting.report(Nic(1, 0), up=True)
    setting.report(Nic(1, 1))
    assert setting.channels[1].route == (Hop(0, 1),)


def test_busy_channel_does_not_go_home_yet():
    """Chunks on their way over the backup rail could be overtaken, so the channel waits for them."""
    setting = Setting()
    channel = setting.channels[1]
    setting.report(Nic(1, 0))
    channel.was_sent()
    setting.report(Nic(1, 0), up=True)
    setting.health.admit(list(setting.health.versions))
    setting.repair.prefer(channel)
    assert channel.route == (Hop(1, 1),)
    channel.acknowledge(1, 0, 6.0)
    setting.repair.prefer(channel)
    assert channel.route == (Hop(0, 1),)


@pytest.mark.parametrize("nodes", [MAX_HOPS + 1, MAX_HOPS + 2])
def test_route_that_does_not_fit_a_header_counts_as_none(nodes):
    """Nodes in a line, each sharing a rail with the next only: a header has room for so many hops."""
    rails = nodes - 1
    health = HealthTable(nodes, rails)
    for nic in list(health.nics()):
        if nic.rail not in (nic.node - 1, nic.node):
            health.merge(health.raised(nic, up=False))
    route = HotRepair(ME, health, {}).best_route(nodes - 1)
    assert route == (
        tuple(Hop(node - 1, node) for node in range(1, nodes)) if nodes <= MAX_HOPS + 1 else None
    )


def test_nics_on_a_route():
    """A route uses a NIC at both ends of each hop."""
    assert nics_on((Hop(1, 2), Hop(0, 1)), 0) == [Nic(0, 1), Nic(2, 1), Nic(2, 0), Nic(1, 0)]
    assert nics_on((), 0) == []
