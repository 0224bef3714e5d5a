from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Nic
from analysis import cost_model, rail_costs
from analysis.errors import ModelError
from analysis.rail_rates import RailRates
from analysis.repaired_ring import repaired_ring


@st.composite
def clusters(draw):
    """Draw a small cluster some NICs of which are dead or slow."""
    n, g = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rates = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(1)])
    of_node = st.lists(rates, min_size=g, max_size=g)
    drawn = draw(st.lists(of_node, min_size=n, max_size=n))
    return RailRates(tuple(tuple(rate / g for rate in row) for row in drawn))


@pytest.mark.parametrize(
    ("n", "g", "dead", "order", "time"),
    [
        (4, 4, [], None, Fraction(3, 2)),
        # neighbours that lost different rails: the hop between them has only two of four
        (4, 4, [(0, 0), (1, 1)], None, Fraction(3)),
        # the same failures with another node in between: three of four everywhere
        (4, 4, [(0, 0), (1, 1)], [0, 2, 1, 3], Fraction(2)),
        # neighbours that lost the same rail: three of four, as for one of them
        (4, 4, [(0, 0), (1, 0)], None, Fraction(2)),
        # no common rail, in any order of three nodes
        (3, 2, [(0, 0), (1, 1)], None, None),
        (1, 2, [], None, Fraction(0)),
        (1, 1, [(0, 0)], None, Fraction(0)),
    ],
)
def test_balance_by_hand(n, g, dead, order, time):
    """T_nf over the narrowest hop; 3.0 as neighbours and 2.0 apart as derived for re-ranking (figure 18)."""
    assert rail_costs.balance(RailRates.of(n, g, [Nic(*nic) for nic in dead]), order) == time


@given(st.integers(2, 9), st.integers(2, 8), st.data())
def test_one_degraded_node_is_the_closed_form(n, g, data):
    """With failures at one node only: T_nf / (1-X), whichever rails they are and whatever the order."""
    node = data.draw(st.integers(0, n - 1))
    rails = data.draw(st.sets(st.integers(0, g - 1), min_size=1, max_size=g - 1))
    order = data.draw(st.permutations(range(n)))
    rates = RailRates.of(n, g, [Nic(node, rail) for rail in rails])
    assert rail_costs.balance(rates, order) == cost_model.balance(n, Fraction(len(rails), g))


@given(st.integers(2, 6), st.integers(1, 6), st.data())
def test_dead_rails_count_by_the_rails_live_at_both_ends(n, g, data):
    """T_nf g / (fewest rails live at both ends of a hop), counted here with sets instead of rates."""
    dead = data.draw(st.sets(st.builds(Nic, st.integers(0, n - 1), st.integers(0, g - 1))))
    live = [{rail for rail in range(g) if Nic(node, rail) not in dead} for node in range(n)]
    fewest = min(len(live[node] & live[(node + 1) % n]) for node in range(n))
    time = rail_costs.balance(RailRates.of(n, g, dead))
    assert time == (cost_model.ring(n) * g / fewest if fewest else None)


@given(clusters())
def test_a_hop_has_what_both_ends_have(rates):
    """Turning the ring around or starting it elsewhere changes nothing."""
    order = list(range(rates.nodes))
    time = rail_costs.balance(rates)
    assert rail_costs.balance(rates, order[::-1]) == time
    assert rail_costs.balance(rates, order[1:] + order[:1]) == time
    assert len(rail_costs.hop_capacities(rates)) == rates.nodes


def test_some_order_is_never_worse_than_the_natural_one():
    """Re-ranking is a choice among all orders, which contain 0, 1, ..., n-1; here it gains a third."""
    rates = RailRates.of(4, 4, [Nic(0, 0), Nic(1, 1)])
    times = [rail_costs.balance(rates, order) for order in permutations(range(4))]
    assert {time for time in times if time is not None} == {Fraction(2), Fraction(3)}


@given(clusters())
def test_hot_repair_is_the_node_model_of_the_same_failures(rates):
    """The form on rails and `cost_model.hot_repair` agree, and None stands for separated nodes."""
    time = rail_costs.hot_repair(rates)
    assert (time is None) == (len(rates.groups()) > 1)
    if time is not None:
        slow = {
            Nic(node, rail): rate * rates.rails
            for node, row in enumerate(rates.rates)
            for rail, rate in enumerate(row)
        }
        assert time == cost_model.hot_repair(rates.nodes, rates.rails, [], slow)


@given(clusters())
def test_balance_is_never_slower_than_hot_repair(rates):
    """Where every hop has a rail, spreading its load is at least as good as moving shares as a whole."""
    balanced, repaired = rail_costs.balance(rates), rail_costs.hot_repair(rates)
    if balanced is not None:
        assert repaired is not None
        assert balanced <= repaired


def test_shares_and_routes_by_hand():
    """Nodes 0 and 1 share no rail: node 2 relays both shares of that hop, so each of its NICs has two."""
    shares = repaired_ring(3, 2, [Nic(0, 0), Nic(1, 1)])
    assert shares.longest == 2
    assert shares.busier() == {Nic(0, 1): 2, Nic(1, 0): 2, Nic(2, 0): 2, Nic(2, 1): 2}
    assert repaired_ring(3, 2, []).longest == 1
    assert repaired_ring(1, 2, []).longest == 0


@given(st.integers(2, 5), st.integers(1, 4))
def test_a_healthy_ring_has_one_share_everywhere(n, g):
    """Each NIC serves the share of its own rail, once in each direction."""
    shares = repaired_ring(n, g, [])
    everywhere = {Nic(node, rail): 1 for node in range(n) for rail in range(g)}
    assert dict(shares.sending) == dict(shares.receiving) == shares.busier() == everywhere


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 2, 2], [1, 2, 3, 4]])
def test_an_order_names_every_node_once(order):
    """Missing, doubled and unknown nodes are refused, and the order is shown."""
    with pytest.raises(ModelError, match=r"order .* does not name each of the nodes 0\.\.3 once"):
        rail_costs.balance(RailRates.of(4, 2), order)
