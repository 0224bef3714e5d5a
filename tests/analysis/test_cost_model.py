from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.hot_repair import connected_groups, hot_repair_mapping
from algorithms.nic import Nic
from algorithms.ring import ring_allreduce
from algorithms.schedule import ScheduleError
from algorithms.stripes import healthy_mapping
from analysis import cost_model
from analysis.errors import ModelError


def busiest_nic(stripes):
    """Time of the busiest NIC in units of D/B: its load over its g-th part of the bandwidth."""
    return max((load for loads in stripes.rail_loads().values() for load in loads), default=0) * stripes.rails


@pytest.mark.parametrize("n", range(1, 10))
def test_the_ring_takes_what_its_loads_take(n):
    """2 (n-1)/n, which is what every node and every NIC of the schedule has to carry."""
    assert cost_model.ring(n) == Fraction(2 * (n - 1), n)
    assert all(cost_model.ring(n) == load for loads in ring_allreduce(n).loads() for load in loads)
    assert cost_model.ring(n) == busiest_nic(healthy_mapping(ring_allreduce(n), 3))


@given(st.integers(2, 12), st.integers(2, 8), st.data())
def test_hot_repair_of_one_nic_takes_twice_as_long(n, g, data):
    """One dead NIC and a backup rail: overhead 100 % (figure 4 of paper 1), whichever NIC it is."""
    dead = Nic(data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, g - 1)))
    assert cost_model.hot_repair(n, g, [dead]) == 2 * cost_model.ring(n)


@given(st.integers(1, 6), st.integers(1, 5), st.data())
def test_closed_form_and_mapping_agree(n, g, data):
    """For any dead NICs the closed form is the load of the mapping's busiest NIC, or both refuse."""
    nics = st.builds(Nic, st.integers(0, n - 1), st.integers(0, g - 1))
    dead = data.draw(st.frozensets(nics))
    if n > 1 and len(connected_groups(n, g, lambda nic: nic not in dead)) > 1:
        with pytest.raises(ScheduleError, match="separate"):
            cost_model.hot_repair(n, g, dead)
    else:
        assert cost_model.hot_repair(n, g, dead) == busiest_nic(
            hot_repair_mapping(ring_allreduce(n), g, dead)
        )


@pytest.mark.parametrize(
    ("n", "g", "dead", "shares"),
    [
        (4, 8, [], 1),
        # nearest first: rails 0 and 1 both end on rail 2, which has its own share as well
        (4, 4, [Nic(1, 0), Nic(1, 1)], 3),
        # rails that are not neighbours have different backups
        (4, 4, [Nic(1, 0), Nic(1, 2)], 2),
        # all of a hop on the only rail left
        (3, 3, [Nic(0, 0), Nic(0, 1)], 3),
        # no common rail on hop 0 -> 1; node 2 relays both shares, as many as its own hops put on each rail
        (3, 2, [Nic(0, 0), Nic(1, 1)], 2),
    ],
)
def test_shares_by_hand(n, g, dead, shares):
    """Cases counted by hand: how many rails' shares end up on one NIC."""
    assert cost_model.hot_repair(n, g, dead) == shares * cost_model.ring(n)


@pytest.mark.parametrize("fraction", [Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_a_slow_nic_keeps_its_shares(fraction):
    """HotRepair does not see that a NIC is slow: its one share takes 1/fraction times as long."""
    slow = {Nic(1, 2): fraction}
    assert cost_model.hot_repair(4, 4, [], slow) == cost_model.ring(4) / fraction


def test_a_slow_backup_carries_two_shares():
    """Rail 1 stands in for rail 0 and runs at half its rate: 2 / (1/2), unless the slow NIC is elsewhere."""
    half = Fraction(1, 2)
    assert cost_model.hot_repair(4, 4, [Nic(1, 0)], {Nic(1, 1): half}) == 4 * cost_model.ring(4)
    assert cost_model.hot_repair(4, 4, [Nic(1, 0)], {Nic(3, 3): half}) == 2 * cost_model.ring(4)


def test_a_nic_that_has_stopped_is_dead():
    """A rate of zero and a failure are the same to HotRepair."""
    stopped = cost_model.hot_repair(4, 4, [], {Nic(1, 0): Fraction(0)})
    assert stopped == cost_model.hot_repair(4, 4, [Nic(1, 0)])


def test_hot_repair_refuses_a_nic_that_is_not_there():
    """A failure outside the layout is named, not ignored."""
    with pytest.raises(ScheduleError, match="there is no node 4 rail 0 among 4 nodes with 2 rails"):
        cost_model.hot_repair(4, 2, [Nic(4, 0)])


@pytest.mark.parametrize("lost", [Fraction(0), Fraction(1, 8), Fraction(1, 3), Fraction(1, 2)])
def test_balance_divides_by_what_is_left(lost):
    """T_nf / (1-X), an overhead of X/(1-X) (figure 5 of paper 1), for any number of nodes."""
    for n in range(2, 10):
        assert cost_model.balance(n, lost) == cost_model.ring(n) / (1 - lost)
        assert cost_model.overhead(cost_model.balance(n, lost), n) == lost / (1 - lost)
    assert cost_model.balance(1, lost) == 0


def test_example_of_three_nodes():
    """With n = 3, g = 3, one rail of one node down: Balance 1.5 and HotRepair 2 times T_nf."""
    assert cost_model.balance(3, Fraction(1, 3)) / cost_model.ring(3) == Fraction(3, 2)
    assert cost_model.hot_repair(3, 3, [Nic(0, 0)]) / cost_model.ring(3) == 2


def test_numbers_may_be_written_in_every_exact_way():
    """Fractions, integers and text mean the same."""
    assert (
        cost_model.balance(4, "1/4") == cost_model.balance(4, "0.25") == cost_model.balance(4, Fraction(1, 4))
    )
    assert cost_model.overhead(3, 4) == cost_model.overhead("3", 4) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cost_model.ring(0), r"n = 0: give a whole number, at least 1"),
        (lambda: cost_model.balance(4, 1), r"lost = 1: a degraded node must keep some bandwidth"),
        (lambda: cost_model.overhead(1, 1), r"n = 1: give a whole number, at least 2"),
        (lambda: cost_model.overhead("fast", 4), r"time: 'fast' is no exact number"),
    ],
)
def test_bad_input_is_named(call, message):
    """Each argument that is out of range is refused by name, with what would do."""
    with pytest.raises(ModelError, match=message):
        call()


def test_seconds_are_bytes_over_bandwidth():
    """3 nodes with 4 GiB at 3 x 10 Gb/s: 4/3 of the data through 3.75 GB/s."""
    time_s = cost_model.seconds(cost_model.ring(3), 3 * 2**30, 3.75e9)
    assert time_s == 4 * 2**30 / 3.75e9
