from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.hot_repair import backup_chain, connected_groups, find_route, hot_repair_mapping
from algorithms.nic import Hop, Nic, nics_of
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleError
from algorithms.stripes import healthy_mapping
from tests.algorithms.replay import Replay


@st.composite
def networks(draw, max_nodes=5, max_rails=4):
    """Number of nodes, number of rails, and any set of dead NICs."""
    nodes, rails = draw(st.integers(2, max_nodes)), draw(st.integers(1, max_rails))
    nics = st.builds(Nic, st.integers(0, nodes - 1), st.integers(0, rails - 1))
    return nodes, rails, draw(st.frozensets(nics))


def route_between(source, target, home, nodes, rails, dead):
    """Call `find_route` for a set of dead NICs."""
    return find_route(source, target, home, nodes=nodes, rails=rails, usable=lambda nic: nic not in dead)


def shortest_node_sequences(source, target, nodes, rails, dead):
    """List all shortest sequences of nodes from source to target, by trying every sequence."""

    def linked(one, other):
        return any(Nic(one, rail) not in dead and Nic(other, rail) not in dead for rail in range(rails))

    others = set(range(nodes)) - {source, target}
    for relays in range(len(others) + 1):
        found = [
            (*between, target)
            for between in permutations(sorted(others), relays)
            if all(linked(a, b) for a, b in zip((source, *between), (*between, target), strict=True))
        ]
        if found:
            return found
    return []


def test_the_backup_chain_starts_at_home_and_goes_round():
    """Backups are ordered nearest first: home, home + 1, ... modulo the number of rails."""
    assert backup_chain(0, 1) == (0,)
    assert backup_chain(0, 3) == (0, 1, 2)
    assert backup_chain(2, 3) == (2, 0, 1)


@pytest.mark.parametrize(
    ("dead", "rail"),
    [
        ([], 2),
        ([Nic(0, 2)], 3),
        ([Nic(1, 2)], 3),
        ([Nic(0, 2), Nic(1, 3)], 0),
        ([Nic(0, 2), Nic(0, 3), Nic(1, 0), Nic(2, 1)], 1),
    ],
)
def test_the_first_rail_alive_at_both_ends_is_taken(dead, rail):
    """Traffic of rail 2 goes over 2, 3, 0, 1, whichever is the first one up at source and target."""
    assert route_between(0, 1, 2, nodes=3, rails=4, dead=dead) == (Hop(rail, 1),)


def test_without_a_common_rail_a_third_node_relays():
    """Nodes 0 and 1 lost different rails of two; the node with the lower number of the two others relays."""
    dead = [Nic(0, 0), Nic(1, 1)]
    for home in (0, 1):
        assert route_between(0, 1, home, nodes=4, rails=2, dead=dead) == (Hop(1, 2), Hop(0, 1))
        assert route_between(1, 0, home, nodes=4, rails=2, dead=dead) == (Hop(0, 2), Hop(1, 0))


def test_each_hop_of_a_relay_follows_the_backup_chain_of_home():
    """A hop over a relay takes the first live rail counted from home, not from the rail of the hop before."""
    dead = [Nic(0, 0), Nic(0, 1), Nic(0, 2), Nic(1, 3)]
    assert route_between(0, 1, 1, nodes=3, rails=4, dead=dead) == (Hop(3, 2), Hop(1, 1))
    assert route_between(0, 1, 3, nodes=3, rails=4, dead=dead) == (Hop(3, 2), Hop(0, 1))


def test_no_route_where_the_live_rails_do_not_connect():
    """Two pairs of nodes share no rail: every node has a live one, but no route joins the pairs."""
    dead = [Nic(0, 0), Nic(2, 0), Nic(1, 1), Nic(3, 1)]
    assert route_between(0, 2, 0, nodes=4, rails=2, dead=dead) == (Hop(1, 2),)
    assert route_between(0, 1, 0, nodes=4, rails=2, dead=dead) is None
    assert connected_groups(4, 2, lambda nic: nic not in dead) == [[0, 2], [1, 3]]


@given(networks(), st.data())
def test_routes_are_shortest_alive_and_found_whenever_they_exist(network, data):
    """Compared with all sequences of nodes; every hop takes the first live rail of the chain."""
    nodes, rails, dead = network
    source, target = data.draw(st.permutations(range(nodes)))[:2]
    home = data.draw(st.integers(0, rails - 1))
    route = route_between(source, target, home, nodes, rails, dead)
    sequences = shortest_node_sequences(source, target, nodes, rails, dead)
    assert (route is None) == (sequences == [])
    groups = connected_groups(nodes, rails, lambda nic: nic not in dead)
    assert sorted(node for group in groups for node in group) == list(range(nodes))
    assert any({source, target} <= set(group) for group in groups) == (route is not None)
    if route is not None:
        assert tuple(hop.node for hop in route) == min(sequences)
        for departure, arrival in nics_of(source, route):
            alive = [
                rail
                for rail in backup_chain(home, rails)
                if Nic(departure.node, rail) not in dead and Nic(arrival.node, rail) not in dead
            ]
            assert departure.rail == arrival.rail == alive[0]


@given(st.integers(2, 9), st.integers(2, 8), st.data())
def test_one_dead_nic_doubles_its_backup(n, g, data):
    """The dead NIC carries nothing, its backup two shares, at the neighbours too; the rest is unchanged."""
    dead = Nic(data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, g - 1)))
    backup = (dead.rail + 1) % g
    share = Fraction(2 * (n - 1), n * g)
    expected = {Nic(node, rail): [share, share] for node in range(n) for rail in range(g)}
    for node, direction in (
        (dead.node, 0),
        ((dead.node + 1) % n, 1),
        (dead.node, 1),
        ((dead.node - 1) % n, 0),
    ):
        expected[Nic(node, dead.rail)][direction] = Fraction(0)
        expected[Nic(node, backup)][direction] = 2 * share
    stripes = hot_repair_mapping(ring_allreduce(n), g, [dead])
    assert stripes.rail_loads() == {nic: tuple(loads) for nic, loads in expected.items()}


@given(networks(), st.integers(0, 20))
def test_a_repaired_ring_is_correct_whenever_it_is_connected(network, count):
    """Either the separated nodes are named, or the stripes avoid dead NICs and give the right result."""
    nodes, rails, dead = network
    schedule = ring_allreduce(nodes)
    groups = connected_groups(nodes, rails, lambda nic: nic not in dead)
    if len(groups) > 1:
        with pytest.raises(ScheduleError) as caught:
            hot_repair_mapping(schedule, rails, dead)
        assert " | ".join(", ".join(map(str, group)) for group in groups) in str(caught.value)
        return
    stripes = hot_repair_mapping(schedule, rails, dead)
    verify.check_stripes(stripes, dead)
    assert Replay(schedule, count, seed=0).run_stripes(stripes, dead).is_right()
    loads = stripes.rail_loads()
    assert not any(any(loads[nic]) for nic in dead)
    # Bytes are conserved: what a node takes in beyond its own it passes on.
    for node, (sent, received) in enumerate(schedule.loads()):
        sent_by_rails = sum(loads[Nic(node, rail)][0] for rail in range(rails))
        received_by_rails = sum(loads[Nic(node, rail)][1] for rail in range(rails))
        assert sent_by_rails - sent == received_by_rails - received >= 0


def test_the_relay_case_by_hand():
    """Three nodes, two rails; node 0 lost rail 0, node 1 lost rail 1: node 2 relays the hop 0 -> 1."""
    dead = [Nic(0, 0), Nic(1, 1)]
    stripes = hot_repair_mapping(ring_allreduce(3), 2, dead)
    assert {stripe.route for stripe in stripes if stripe.transfer.source == 0} == {(Hop(1, 2), Hop(0, 1))}
    whole = Fraction(4, 3)
    assert stripes.rail_loads() == {
        Nic(0, 0): (0, 0),
        Nic(0, 1): (whole, whole),
        Nic(1, 0): (whole, whole),
        Nic(1, 1): (0, 0),
        # receives from 1 and sends to 0 over different rails, and relays in between
        Nic(2, 0): (whole, whole),
        Nic(2, 1): (whole, whole),
    }


def test_home_rails_and_regions_stay_as_they_were():
    """HotRepair changes routes only: no column but the route differs from the healthy mapping."""
    schedule = ring_allreduce(4)
    healthy, repaired = healthy_mapping(schedule, 3), hot_repair_mapping(schedule, 3, [Nic(1, 2)])
    assert [(s.index, s.transfer, s.source_region, s.target_region, s.home) for s in repaired] == [
        (s.index, s.transfer, s.source_region, s.target_region, s.home) for s in healthy
    ]
    assert list(hot_repair_mapping(schedule, 3, [])) == list(healthy)


def test_dead_nics_must_exist():
    """A NIC that the network does not have is an error, not silently ignored."""
    for nic in (Nic(3, 0), Nic(0, 2), Nic(-1, 0)):
        with pytest.raises(ScheduleError, match=f"there is no {nic}"):
            hot_repair_mapping(ring_allreduce(3), 2, [nic])
