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


def test_seconds_are_bytes_over_bandwidth():
    """3 nodes with 4 GiB at 3 x 10 Gb/s: 4/3 of the data through 3.75 GB/s."""
    time_s = cost_model.seconds(cost_model.ring(3), 3 * 2**30, 3.75e9)
    assert time_s == 4 * 2**30 / 3.75e9
