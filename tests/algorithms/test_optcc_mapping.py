from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import verify
from algorithms.columns import GRID_LIMIT
from algorithms.nic import Nic
from algorithms.optcc import optcc_allreduce
from algorithms.optcc_mapping import optcc_mapping, pour
from algorithms.optcc_mixture import optcc_mixture
from algorithms.optcc_overlay import optcc_overlay
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleError
from algorithms.stripes import healthy_mapping
from analysis import lower_bound, rail_loads, straggler
from analysis.rail_rates import RailRates


def cluster(p, rails, lost, slow=0):
    """A cluster in which node `slow` lost its first rails."""
    return RailRates.of(p, rails, [Nic(slow, rail) for rail in range(lost)])


def busiest(stripes, rates):
    """The time that the busiest NIC needs, in D/B."""
    return max(max(load) / rates.rate(nic) for nic, load in stripes.rail_loads().items() if rates.rate(nic))


@pytest.mark.parametrize("p", range(3, 10))
def test_loads_are_the_planned_ones(p):
    """Every NIC carries what is planned, for g up to 8; beyond l = 2p-3 the ring keeps to the lost rails."""
    beyond = 0
    for g in range(2, 9):
        for f in {1, g // 2, g - 1}:
            rates = cluster(p, g, f)
            schedule = optcc_allreduce(p, 0, 2, 1, g, range(f))
            stripes = optcc_mapping(schedule, rates.rates)
            assert stripes.rail_loads() == rail_loads.optcc(p, g, f)
            assert busiest(stripes, rates) == straggler.optcc(p, Fraction(f, g))
            beyond += Fraction(g, g - f) > 2 * p - 3
    assert beyond > 0 or p > 5


@pytest.mark.parametrize("p", range(3, 8))
def test_the_mixture_fills_every_live_rail(p):
    """Where four stages alone miss the bound, every NIC is busy just as long as the bound says."""
    for g, f in ((2, 1), (3, 1), (4, 1), (8, 1), (8, 2)):
        rates = cluster(p, g, f)
        stripes = optcc_mapping(optcc_mixture(p, 0, p - 1, g, range(f)), rates.rates)
        bound = lower_bound.one_straggler(p, Fraction(f, g))
        assert busiest(stripes, rates) == bound
        if straggler.mixture_share(p, Fraction(f, g)) > 0:
            for nic, load in stripes.rail_loads().items():
                assert load == (bound * rates.rate(nic),) * 2


def test_even_stripes_miss_the_bound():
    """Striped evenly, the common rails carry too much, as the closed form says; so planning matters."""
    rates = cluster(5, 4, 1)
    schedule = optcc_overlay(5, 0, 4, 4, [0])
    even, lost = busiest(healthy_mapping(schedule, 4), rates), Fraction(1, 4)
    assert even == straggler.optcc(5, lost, form="equal-stripes") > straggler.optcc(5, lost)
    assert busiest(optcc_mapping(schedule, rates.rates), rates) == straggler.optcc(5, lost)


def test_a_straggler_that_is_slow_instead_of_dead():
    """All its rails run at half their rate: nothing to plan, everything is striped evenly."""
    rates = RailRates.of(4, 2, slow={Nic(0, 0): Fraction(1, 2), Nic(0, 1): Fraction(1, 2)})
    stripes = optcc_mapping(optcc_allreduce(4, 0, 3), rates.rates)
    assert set(stripes.rail_loads().values()) == {(Fraction(1, 2),) * 2, (Fraction(5, 6),) * 2}


def test_equal_rates_give_the_healthy_mapping():
    """On a healthy cluster every hop is striped evenly."""
    schedule = ring_allreduce(5)
    rates = cluster(5, 3, 0).rates
    assert [str(one) for one in optcc_mapping(schedule, rates)] == [
        str(one) for one in healthy_mapping(schedule, 3)
    ]


@given(
    st.lists(st.tuples(st.fractions(Fraction(1, 9), 3), st.fractions(0, 3)), min_size=1, max_size=5),
    st.fractions(Fraction(1, 9), 5),
)
def test_water_finds_its_level(rails, amount):
    """What gets some ends at one time, what gets none was busy longer already, and nothing is lost."""
    speed = {rail: of_rail[0] for rail, of_rail in enumerate(rails)}
    floor = {rail: of_rail[1] for rail, of_rail in enumerate(rails)}
    parts = pour(amount, speed, floor)
    assert sum(parts.values()) == amount
    (level,) = {floor[rail] + part / speed[rail] for rail, part in parts.items()}
    assert all(part > 0 for part in parts.values())
    assert all(floor[rail] >= level for rail in set(speed) - set(parts))


def test_shares_beyond_the_grid_are_rounded():
    """Odd rates need too fine a grid; each rail is then off by less than a step per transfer."""
    rates = [[Fraction(1, 3), Fraction(10**9 + 7, 10**9)]] * 3 + [[Fraction(0), Fraction(1)]]
    schedule = optcc_allreduce(4, 3, 4, rails=2, lost_rails=[0])
    stripes = optcc_mapping(schedule, rates)
    verify.check_stripes(stripes, [Nic(3, 0)])
    assert GRID_LIMIT // 2 - schedule.grid < stripes.grid < GRID_LIMIT
    times = [sent / rates[0][nic.rail] for nic, (sent, _) in stripes.rail_loads().items() if nic.node == 0]
    assert 0 < abs(times[0] - times[1]) < Fraction(4 * len(schedule), stripes.grid)


@pytest.mark.parametrize(
    ("rates", "complaint"),
    [
        ([[1, 1]] * 2, "rates of 2 nodes with .2. rails: give 3 nodes"),
        ([[1], [1, 1], [1]], "rates of 3 nodes with .1, 2. rails"),
        ([[], [], []], "equally many rails"),
        ([[1, 1], [1, -1], [1, 1]], "node 1 rail 1: a rate below zero"),
        ([[1, 0], [0, 1], [1, 1]], "nodes 0 and 1 must talk and have no live rail in common .* use balance"),
    ],
)
def test_rates_that_make_no_sense_are_refused(rates, complaint):
    """A table of the wrong shape, a negative rate, and neighbours without a common live rail are named."""
    with pytest.raises(ScheduleError, match=complaint):
        optcc_mapping(ring_allreduce(3), [[Fraction(rate) for rate in of_node] for of_node in rates])


def test_a_planted_error_is_seen():
    """A schedule that forgets the lost rails is on a dead one if striped evenly, and on none if planned."""
    rates = cluster(4, 2, 1)
    forgetful = optcc_allreduce(4, 0, 2)
    verify.check_stripes(optcc_mapping(forgetful, rates.rates), rates.dead())
    with pytest.raises(ScheduleError, match="uses node 0 rail 0, which is dead"):
        verify.check_stripes(healthy_mapping(forgetful, 2), rates.dead())
