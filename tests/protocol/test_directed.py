"""Deaths at chosen moments, relays, and NICs that come back."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from algorithms.nic import Hop, Nic
from r2cc_mpi.protocol.health import HealthTable
from r2cc_mpi.protocol.hot_repair import HotRepair
from tests.protocol.cases import Case
from tests.protocol.invariants import ViolationError, check_lossless
from tests.protocol.planted_control import ranks_leave_after_a_short_silence
from tests.protocol.scenarios import Fault, Scenario
from tests.protocol.world import World

SMALL = Scenario(2, 2, (9, 3))
LAST_TO_CLOSE = Scenario(2, 2, (9,), pauses={(Nic(1, 0), 2): 0.5})
LONG = Scenario(2, 2, (800, 40, 40), pauses={(Nic(1, 0), 3): 1.0})


def moments(scenario: Scenario, pattern: str) -> list[int]:
    """List the events of a healthy run that do what the pattern says."""
    found = []

    def note(_now: float, line: str) -> None:
        if re.search(pattern, line):
            found.append(world.events)

    world = World(scenario, 0, note)
    world.run()
    return found


def deaths_around(events: range) -> list[Fault]:
    """Let each NIC die at each of the events, in one of the four manners."""
    return [
        Fault(nic, event, announced=(event + place) % 2 == 1, late=(event + place) % 4 > 1)
        for event in events
        for place, nic in enumerate(SMALL.nics)
    ]


def survive(faults: list[Fault]) -> None:
    """Run the small scenario with each fault and check it."""
    for fault in faults:
        world = World(replace(SMALL, faults=(fault,)), 0)
        world.run()
        check_lossless(world)
        assert world.rails.deaths[fault.nic] == 1, "the run was over before"


def test_death_while_start_spreads():
    """A NIC may die at any event while the START of a collective spreads."""
    first, second = moments(SMALL, "leads collective")
    survive(deaths_around(range(first, first + 14)) + deaths_around(range(second, second + 14)))


def test_death_between_two_collectives():
    """A NIC may die while no collective runs; the next one completes all the same."""
    begin = moments(SMALL, "has completed collective 1")[-1]
    end = moments(SMALL, "leads collective 2")[0]
    survive(deaths_around(range(begin, end + 1, 2)))


def test_death_at_the_last_acknowledgement():
    """A NIC may die right before or after the last acknowledgement is sent or arrives."""
    sent, arrived = moments(SMALL, "sends ACK")[-1], moments(SMALL, "delivers ACK")[-1]
    survive(deaths_around(range(sent - 3, arrived + 4)))


def test_death_while_ranks_close():
    """A NIC may die at any event while ranks find out that all are done."""
    begin, end = moments(SMALL, "has completed collective 2")[-1], moments(SMALL, "leaves")[-1]
    survive(deaths_around(range(begin, end, 3)))


def cut_off_while_closing(at_event: int, *, announced: bool) -> World:
    """Let node 1, which closes last, lose all NICs for two seconds at some event."""
    faults = (Fault(Nic(1, rail), at_event, announced, late=False, revive_after_s=2.0) for rail in range(2))
    world = World(replace(LAST_TO_CLOSE, faults=tuple(faults)), 0)
    world.run()
    return world


@pytest.mark.parametrize("announced", [True, False])
def test_last_node_to_close_may_be_cut_off_for_a_while(announced):
    """Ranks that only wait for a node to be done stay until it can tell them so."""
    end = moments(LAST_TO_CLOSE, "leaves")[-1]
    for at_event in range(end - 50, end, 3):
        check_lossless(cut_off_while_closing(at_event, announced=announced))


def test_leaving_without_waiting_for_those_that_are_cut_off_is_noticed(monkeypatch):
    """A protocol whose ranks leave after a second of silence does not pass."""
    ranks_leave_after_a_short_silence(monkeypatch)
    end = moments(LAST_TO_CLOSE, "leaves")[-1]
    with pytest.raises(ViolationError, match=r"not left: .*ISOLATED"):
        check_lossless(cut_off_while_closing(end - 40, announced=True))


@pytest.mark.parametrize("seed", range(6))
def test_relay_through_the_third_node(seed):
    """Two nodes that share no live rail go on through the third, which is one more hop."""
    world = Case("no_common_rail", seed).run()
    routes = {
        (failover.source, failover.target, failover.route)
        for rank in world.ranks.values()
        for failover in rank.engine.hot_repair.failovers
    }
    lost = dict(fault.nic for fault in world.scenario.faults)
    first, second = sorted(lost)
    (third,) = {0, 1, 2} - {first, second}
    relayed = {(source, target): route for source, target, route in routes if route and len(route) == 2}
    assert set(relayed) & {(first, second), (second, first)}
    for (source, target), route in relayed.items():
        assert route == (Hop(lost[target], third), Hop(lost[source], target))


def lossy(nic: Nic, *, revive_after_s: float | None) -> Scenario:
    """Let a NIC die in the first of three collectives, which is long enough for it to come back meanwhile."""
    return replace(LONG, faults=(Fault(nic, 100, announced=True, late=False, revive_after_s=revive_after_s),))


def used(world: World, nic: Nic) -> list[int]:
    """Say in which collectives a NIC carried chunks, in order, the first one only after the NIC had died."""
    (died_at, *_) = world.rails.history[nic]
    return sorted({sent.collective for sent in world.rails.chunks if sent.nic == nic and sent.at > died_at})


@pytest.mark.parametrize("nic", LONG.nics, ids=str)
def test_nic_that_comes_back_is_used_from_the_next_start_on(nic):
    """A NIC that came back is left alone by the running collective, and used by the next one."""
    world = World(lossy(nic, revive_after_s=0.02), 0)
    world.run()
    check_lossless(world)
    assert used(world, nic) == [2, 3]
    assert all(
        sender.route == (Hop(rank.me.rail, target),)
        for rank in world.ranks.values()
        for target, sender in rank.engine.senders.items()
    )


@pytest.mark.parametrize("nic", LONG.nics, ids=str)
def test_nic_that_stays_away_is_not_used(nic):
    """A dead NIC that stays away carries nothing, and its owner's data goes over the other rail."""
    world = World(lossy(nic, revive_after_s=None), 0)
    world.run()
    check_lossless(world)
    assert used(world, nic) == []
    assert world.ranks[nic].engine.senders[1 - nic.node].route == (Hop(1 - nic.rail, 1 - nic.node),)


def test_use_before_the_next_start_is_noticed(monkeypatch):
    """A protocol that uses a NIC as soon as it is up again does not pass."""
    repair = HotRepair.repair

    def eager(self, changes, now):
        repair(self, changes, now)
        for channel in self._channels.values():
            channel.route = self.best_route(channel.target)

    monkeypatch.setattr(HealthTable, "is_admitted", HealthTable.is_up)
    monkeypatch.setattr(HotRepair, "repair", eager)
    world = World(lossy(Nic(0, 1), revive_after_s=0.02), 0)
    world.run()
    assert used(world, Nic(0, 1)) == [1, 2, 3]


def test_missing_return_to_the_home_rail_is_noticed(monkeypatch):
    """A protocol that stays on the backup rail for ever does not pass."""
    monkeypatch.setattr(HotRepair, "prefer", lambda _self, _channel: None)
    world = World(lossy(Nic(0, 1), revive_after_s=0.02), 0)
    world.run()
    assert used(world, Nic(0, 1)) == []


def test_what_is_in_flight_is_sent_again_once():
    """An announced death costs at most a window per channel, not the whole collective."""
    world = World(lossy(Nic(0, 1), revive_after_s=None), 0)
    world.run()
    resent = sum(
        sender.resent_bytes for rank in world.ranks.values() for sender in rank.engine.senders.values()
    )
    assert 0 < resent <= 2 * world.settings.window * world.settings.chunk_bytes
