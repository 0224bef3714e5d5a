from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.balance import balance_mapping
from algorithms.hot_repair import connected_groups, find_route, hot_repair_mapping
from algorithms.nic import Hop, Nic
from algorithms.re_ranking import common_capacity, re_rank
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleError
from analysis import rail_costs, rail_loads
from analysis.rail_rates import RailRates
from tests.algorithms.hops import dead_nics, one_transfer, parts_of, rates_with_dead
from tests.algorithms.replay import Replay

PARTS = (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(1))


@st.composite
def networks(draw, max_nodes=5, max_rails=4):
    """Rates of all NICs: healthy, slow or dead."""
    nodes, rails = draw(st.integers(2, max_nodes)), draw(st.integers(1, max_rails))
    of_node = st.lists(st.sampled_from(PARTS), min_size=rails, max_size=rails)
    return draw(st.lists(of_node, min_size=nodes, max_size=nodes))


@given(networks())
def test_a_balanced_ring_is_correct_whenever_it_is_connected(rates):
    """Every byte goes once over live NICs and the sums are right; or the separated nodes are named."""
    nodes, rails, dead = len(rates), len(rates[0]), dead_nics(rates)
    schedule = ring_allreduce(nodes)
    groups = connected_groups(nodes, rails, lambda nic: nic not in dead)
    if len(groups) > 1:
        with pytest.raises(ScheduleError) as caught:
            balance_mapping(schedule, rates)
        assert " | ".join(", ".join(map(str, group)) for group in groups) in str(caught.value)
        return
    stripes = balance_mapping(schedule, rates)
    verify.check_stripes(stripes, dead)
    assert Replay(schedule, 17, seed=0).run_stripes(stripes, dead).is_right()
    loads = stripes.rail_loads()
    assert not any(any(loads[nic]) for nic in dead)


@given(networks())
def test_routes_are_those_that_a_channel_finds_for_its_home_rail(rates):
    """Whoever knows a stripe's ends, its home rail and what is up can derive its route, as HotRepair does."""
    nodes, rails, dead = len(rates), len(rates[0]), dead_nics(rates)
    if len(connected_groups(nodes, rails, lambda nic: nic not in dead)) > 1:
        return
    for one in balance_mapping(ring_allreduce(nodes), rates):
        source, target = one.transfer.source, one.transfer.target
        usable = lambda nic: nic not in dead  # noqa: E731
        assert one.route == find_route(source, target, one.home, nodes=nodes, rails=rails, usable=usable)


@given(networks(max_nodes=6), st.randoms(use_true_random=False))
def test_loads_are_exactly_proportional(rates, random):
    """Where every hop has a common rail, each NIC's load is the closed form, and so is the time."""
    nodes, rails = len(rates), len(rates[0])
    order = random.sample(range(nodes), nodes)
    cluster = RailRates(tuple(tuple(rate / rails for rate in of_node) for of_node in rates))
    time = rail_costs.balance(cluster, order)
    if time is None:
        return
    stripes = balance_mapping(ring_allreduce(nodes, order), rates)
    loads = stripes.rail_loads()
    assert loads == rail_loads.balance(cluster, order)
    assert max(max(load) / cluster.rate(nic) for nic, load in loads.items() if cluster.rate(nic)) == time
    for one in stripes:
        assert len(one.route) == 1


@pytest.mark.parametrize("n", range(2, 10))
def test_one_dead_rail_costs_its_share_not_a_whole_one(n):
    """Any rail of any node dead, up to 8 rails: 1/(g-1) more time, every rail of the hops equally busy."""
    for g in range(2, 9):
        node, rail = (g * n) % n, (3 * g + n) % g
        rates = rates_with_dead(n, g, (node, rail))
        stripes = balance_mapping(ring_allreduce(n), rates)
        verify.check_stripes(stripes, [Nic(node, rail)])
        whole = Fraction(2 * (n - 1), n)
        expected = {Nic(i, r): [whole / g, whole / g] for i in range(n) for r in range(g)}
        for r in range(g):
            share = Fraction(0) if r == rail else whole / (g - 1)
            expected[Nic(node, r)] = [share, share]
            expected[Nic((node + 1) % n, r)][1] = share
            expected[Nic((node - 1) % n, r)][0] = share
        assert stripes.rail_loads() == {nic: tuple(load) for nic, load in expected.items()}


def test_the_relay_case_by_hand():
    """Nodes 0 and 1 have no rail in common: node 2 relays, over both its rails to either end, half each.

    The chain of rail 0 gives rails 2 and 0 for the two hops, that of rail 1 gives 2 and 1, of rail 2 again 2
    and 0, of rail 3 it is 3 and 0. Those of 1 and 3 have no NIC in common.
    """
    rates = rates_with_dead(3, 4, (0, 0), (0, 1), (1, 2), (1, 3))
    half = Fraction(1, 2)
    assert parts_of(balance_mapping(one_transfer(nodes=3), rates)) == [
        (1, 0, half, (Hop(2, 2), Hop(1, 1))),
        (3, half, 1, (Hop(3, 2), Hop(0, 1))),
    ]
    # With rail 3 at half its rate at node 0, its route gets half as much as the other.
    rates[0][3] = half
    assert [part[:3] for part in parts_of(balance_mapping(one_transfer(nodes=3), rates))] == [
        (1, 0, Fraction(2, 3)),
        (3, Fraction(2, 3), 1),
    ]


def test_a_detour_through_a_bottleneck_takes_the_faster_route():
    """Two routes share their last NIC, so that one is enough; of the two it is the faster one."""
    rates = rates_with_dead(3, 3, (0, 0), (1, 1), (1, 2))
    for slow, other in ((1, 2), (2, 1)):
        rates[2] = [Fraction(1, 2) if rail == slow else Fraction(1) for rail in range(3)]
        assert parts_of(balance_mapping(one_transfer(nodes=3), rates)) == [
            (other, 0, 1, (Hop(other, 2), Hop(0, 1)))
        ]


def test_only_allowed_rails_are_balanced():
    """A transfer that may use rails 0 and 2 uses no other while one of them is up at both ends."""
    schedule = one_transfer(rails=[0, 2])
    assert [one.home for one in balance_mapping(schedule, rates_with_dead(2, 4))] == [0, 2]
    assert [one.home for one in balance_mapping(schedule, rates_with_dead(2, 4, (1, 0)))] == [2]
    # Neither is: the channels of both are repaired, over rails 1 and 3, as HotRepair does it.
    rates = rates_with_dead(2, 4, (1, 0), (0, 2))
    stripes = balance_mapping(schedule, rates)
    assert parts_of(stripes) == [
        (0, 0, Fraction(1, 2), (Hop(1, 1),)),
        (2, Fraction(1, 2), 1, (Hop(3, 1),)),
    ]
    assert parts_of(hot_repair_mapping(schedule, 4, dead_nics(rates))) == parts_of(stripes)
    verify.check_stripes(stripes, dead_nics(rates))


def test_figure_18_re_ranking_makes_balance_faster():
    """4 x 4, A without rail 0, B without rail 1: 3 as neighbours, 2 apart (derived here: T* is 1.714)."""
    cluster = RailRates.of(4, 4, dead=[Nic(0, 0), Nic(1, 1)])
    times = []
    for order in (None, re_rank(common_capacity(cluster.rates))):
        stripes = balance_mapping(ring_allreduce(4, order), cluster.rates)
        verify.check_stripes(stripes, cluster.dead())
        times.append(max(max(load) for load in stripes.rail_loads().values()) * 4)
    assert times == [3, 2]


def test_a_planted_error_in_the_balance_is_seen():
    """Moving one boundary of one stripe by a grid step changes the loads, and the oracle sees it."""
    cluster = RailRates.of(3, 3, dead=[Nic(1, 1)])
    stripes = balance_mapping(ring_allreduce(3), cluster.rates)
    high = np.array(stripes.source_hi)
    high[0] += 1
    spoilt = replace(stripes, source_hi=high, target_hi=high)
    assert spoilt.rail_loads() != rail_loads.balance(cluster)
    with pytest.raises(ScheduleError, match="overlaps another stripe"):
        verify.check_stripes(spoilt, cluster.dead())


@pytest.mark.slow
@pytest.mark.parametrize("n", range(2, 10))
def test_every_single_failure_up_to_nine_nodes_and_eight_rails(n):
    """Oracle and closed form agree on HotRepair and Balance for every dead NIC of every layout."""
    schedule = ring_allreduce(n)
    verify.check(schedule)
    for g in range(1, 9):
        for node, rail in product(range(n), range(g if g > 1 else 0)):
            cluster = RailRates.of(n, g, dead=[Nic(node, rail)])
            repaired = hot_repair_mapping(schedule, g, cluster.dead())
            verify.check_stripes(repaired, cluster.dead())
            assert repaired.rail_loads() == rail_loads.hot_repair(cluster)
            balanced = balance_mapping(schedule, cluster.rates)
            verify.check_stripes(balanced, cluster.dead())
            assert balanced.rail_loads() == rail_loads.balance(cluster)
