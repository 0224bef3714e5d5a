from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.hot_repair import hot_repair_mapping
from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleError
from algorithms.stripes import healthy_mapping
from analysis import cost_model, loads, rail_costs, rail_loads
from analysis.errors import ModelError
from analysis.rail_rates import RailRates
from analysis.straggler import port_times

DEGRADED = [(n, g, f) for n, g in product(range(3, 7), range(2, 6)) for f in range(1, g)]
DEGRADED_OR_NOT = [(p, g, f) for p, g in product(range(3, 7), range(1, 6)) for f in range(g)]
NOTHING = (Fraction(0), Fraction(0))


def of_node(nics: rail_loads.NicLoads, node: int) -> tuple[Fraction, Fraction]:
    """Sum the loads of a node's NICs: (sent, received)."""
    mine = [both for nic, both in nics.items() if nic.node == node]
    return sum((sent for sent, _ in mine), Fraction(0)), sum((received for _, received in mine), Fraction(0))


def busiest(nics: Mapping[Nic, tuple[Fraction, Fraction]], rates: RailRates) -> Fraction:
    """Time of the NIC that needs longest; no load may be on a dead one."""
    assert all(rates.is_live(nic) or both == NOTHING for nic, both in nics.items())
    return max(max(both) / rates.rate(nic) for nic, both in nics.items() if rates.is_live(nic))


@given(st.integers(1, 5), st.integers(1, 4))
def test_the_ring_has_the_loads_of_its_schedule(n, g):
    """2 (n-1)/(n g) on every NIC, exactly what the mapped schedule counts."""
    assert rail_loads.ring(n, g) == healthy_mapping(ring_allreduce(n), g).rail_loads()


@given(st.integers(1, 5), st.integers(1, 4), st.data())
def test_hot_repair_has_the_loads_of_its_schedule(n, g, data):
    """For any dead NICs what the repaired mapping counts, or both refuse."""
    dead = data.draw(st.sets(st.builds(Nic, st.integers(0, n - 1), st.integers(0, g - 1)), max_size=4))
    rates = RailRates.of(n, g, dead)
    try:
        expected = hot_repair_mapping(ring_allreduce(n), g, dead).rail_loads()
    except ScheduleError:
        with pytest.raises(ScheduleError, match="separate"):
            rail_loads.hot_repair(rates)
    else:
        assert rail_loads.hot_repair(rates) == expected


@given(st.integers(2, 5), st.integers(1, 4), st.data())
def test_balance_ends_everywhere_together(n, g, data):
    """Each node has the ring's loads, and the busiest NIC needs the time of `rail_costs.balance`."""
    speeds = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1), Fraction(1)])
    row = st.lists(speeds, min_size=g, max_size=g)
    drawn = data.draw(st.lists(row, min_size=n, max_size=n))
    rates = RailRates(tuple(tuple(speed / g for speed in speeds) for speeds in drawn))
    order = data.draw(st.permutations(range(n)))
    time = rail_costs.balance(rates, order)
    if time is None:
        with pytest.raises(ModelError, match="share no live rail; give an order"):
            rail_loads.balance(rates, order)
    else:
        nics = rail_loads.balance(rates, order)
        assert all(of_node(nics, node) == loads.ring(n) for node in range(n))
        assert busiest(nics, rates) == time


@pytest.mark.parametrize(("n", "g", "f"), DEGRADED)
def test_r2cc_adds_up(n, g, f):
    """Node by node the loads are those of `loads.r2cc_allreduce`, and dead NICs carry nothing."""
    lost = Fraction(f, g)
    expected = loads.r2cc_allreduce(n, lost)
    nics = rail_loads.r2cc_allreduce(n, g, f)
    for node in range(n):
        load = expected.healthy if node else expected.degraded
        assert of_node(nics, node) == (load, load)
    assert all(nics[Nic(0, rail)] == NOTHING for rail in range(f))
    # what leaves on a rail arrives on it
    for rail in range(g):
        both = [nics[Nic(node, rail)] for node in range(n)]
        assert sum(sent for sent, _ in both) == sum(received for _, received in both)


@pytest.mark.parametrize(("n", "g", "f"), DEGRADED)
def test_r2cc_keeps_the_degraded_nics_busy(n, g, f):
    """At Y = X the busiest NIC is the degraded node's, for the whole (finely pipelined) time."""
    rates = RailRates.of(n, g, [Nic(0, rail) for rail in range(f)])
    time = busiest(rail_loads.r2cc_allreduce(n, g, f), rates)
    assert time == cost_model.r2cc_allreduce(n, Fraction(f, g))


def test_a_single_node_sends_nothing():
    """With n = 1 there is no hop, even if its only NIC is dead."""
    assert rail_loads.balance(RailRates.of(1, 1, [Nic(0, 0)])) == {Nic(0, 0): NOTHING}


def test_r2cc_by_hand():
    """For n = 3, g = 3, f = 1, Y = 1/3: 4/3 x 2/3 / 2 on a common rail, 1 x 1/3 on the other one; stage 2."""
    nics = rail_loads.r2cc_allreduce(3, 3, 1)
    of_global, of_partial, of_end, of_hop = Fraction(4, 9), Fraction(1, 3), Fraction(1, 6), Fraction(1, 9)
    assert nics[Nic(0, 1)] == (of_global + of_end, of_global + of_end)
    assert nics[Nic(1, 1)] == (of_global + of_hop, of_global + of_end)
    assert nics[Nic(2, 1)] == (of_global + of_end, of_global + of_hop)
    assert nics[Nic(1, 0)] == (of_partial + of_hop, of_partial)
    assert nics[Nic(2, 0)] == (of_partial, of_partial + of_hop)


@pytest.mark.parametrize(("p", "g", "f"), DEGRADED_OR_NOT)
def test_optcc_adds_up(p, g, f):
    """Straggler 1, healthy (2p-3)/(p-1), planned or not; no NIC needs longer than the closed forms say."""
    rates = RailRates.of(p, g, [Nic(0, rail) for rail in range(f)])
    lost = Fraction(f, g)
    expected = loads.optcc(p)
    for planned, form in ((True, "simple"), (False, "equal-stripes")):
        nics = rail_loads.optcc(p, g, f, planned=planned)
        for node in range(p):
            load = expected.healthy if node else expected.degraded
            assert of_node(nics, node) == (load, load)
        assert busiest(nics, rates) == max(port_times(p, lost, form))


@pytest.mark.parametrize(("p", "g", "f"), DEGRADED_OR_NOT)
def test_planned_shares_even_out_the_rails(p, g, f):
    """A healthy node's rails carry (2m-1)/(m g) while l <= 2p-3; beyond, the ring leaves the common ones."""
    m = p - 1
    shares = rail_loads.optcc_shares(p, g, f)
    assert shares.common_straggler == Fraction(1, m * (g - f))
    if Fraction(g, g - f) <= 2 * p - 3:
        even = Fraction(2 * m - 1, m * g)
        assert shares.common_ring + shares.common_straggler == even
        assert shares.other_ring == (even if f else 0)
    else:
        assert shares.common_ring == 0
        assert shares.other_ring == Fraction(2 * (m - 1), m * f)
    assert min(shares) >= 0


def test_a_straggler_beyond_the_even_share():
    """With p = 3, g = 5, f = 4 the slowdown 5 exceeds 2p-3 = 3: ring on the four other rails, 1/4 each."""
    shares = rail_loads.optcc_shares(3, 5, 4)
    assert shares == rail_loads.OptccShares(Fraction(0), Fraction(1, 2), Fraction(1, 4))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rail_loads.ring(0, 2), r"n = 0: give a whole number, at least 1"),
        (lambda: rail_loads.ring(2, 0), r"rails = 0: give a whole number, at least 1"),
        (lambda: rail_loads.r2cc_allreduce(1, 3, 1), r"n = 1: give a whole number, at least 2"),
        (lambda: rail_loads.r2cc_allreduce(3, 3, 0), r"dead_rails = 0: give a whole number, at least 1"),
        (
            lambda: rail_loads.r2cc_allreduce(3, 3, 3),
            r"dead_rails = 3: node 0 must keep a rail, give at most 2",
        ),
        (lambda: rail_loads.r2cc_allreduce(3, 3, 1, 2), r"partial = 2 is no part of a whole"),
        (lambda: rail_loads.optcc(2, 3, 1), r"p = 2: give a whole number, at least 3"),
        (lambda: rail_loads.optcc_shares(3, 3, 3), r"dead_rails = 3: node 0 must keep a rail"),
        (lambda: rail_loads.optcc_shares(3, 3, -1), r"dead_rails = -1: give a whole number, at least 0"),
        (
            lambda: rail_loads.balance(RailRates.of(2, 2, [Nic(0, 0), Nic(1, 1)])),
            r"nodes 0 and 1 share no live rail; give an order in which they are no neighbours",
        ),
        (lambda: rail_loads.balance(RailRates.of(2, 2), [0, 0]), r"order \[0, 0\] does not name"),
    ],
)
def test_bad_input_is_named(call, message):
    """Each argument that is out of range is refused by name, with what would do."""
    with pytest.raises(ModelError, match=message):
        call()
