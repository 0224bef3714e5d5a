from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest

from analysis.rail_bound import INFINITE, optimum
from analysis.rail_rates import RailRates
from tests.analysis.clusters import RAIL_CASES, cluster, random_cluster
from tests.analysis.ring_packing import all_rings, least_time, sorted_prefixes


def path(nodes):
    """Cluster in which each node shares a rail with the next one, and with no other."""
    rails = nodes - 1
    dead = [(node, rail) for node in range(nodes) for rail in range(rails) if rail not in {node - 1, node}]
    return cluster(nodes, rails, dead)


def expect(rates, rings, **options):
    """Compare the time of a mixture of rings with the optimum."""
    bound = optimum(rates)
    expected = INFINITE if bound.time is None else float(bound.time)
    assert least_time(rates, rings, **options) == pytest.approx(expected, rel=1e-7)


def test_rings_are_all_rings():
    """On four nodes: 4 of one, 6 of two, 4 x 2 of three, 6 of four."""
    assert len(set(all_rings(4))) == len(all_rings(4)) == 4 + 6 + 8 + 6


@pytest.mark.parametrize(("nodes", "rails", "dead", "_time", "_node_bound"), RAIL_CASES)
def test_rings_reach_the_optimum_of_the_seven_clusters(nodes, rails, dead, _time, _node_bound):
    """A mixture of rings takes T*, also where no ring of all nodes works (first) or none at all (last)."""
    expect(cluster(nodes, rails, dead), all_rings(nodes))


def patterns(nodes, rails):
    """List the ways in which NICs can be dead, without those that differ in numbering only."""
    found = set()
    for live in itertools.product((0, 1), repeat=nodes * rails):
        rows = [live[node * rails : (node + 1) * rails] for node in range(nodes)]
        orders = itertools.permutations(range(rails))
        found.add(min(tuple(sorted(tuple(row[rail] for rail in order) for row in rows)) for order in orders))
    return [RailRates(tuple(tuple(Fraction(bit, rails) for bit in row) for row in rows)) for rows in found]


@pytest.mark.parametrize(
    ("rails", "count"),
    [
        (1, 5),
        (2, 22),
        pytest.param(3, 87, marks=pytest.mark.slow),
        pytest.param(4, 317, marks=pytest.mark.slow),
    ],
)
def test_rings_reach_the_optimum_whatever_failed(rails, count):
    """On four nodes with up to four rails, for every set of dead NICs (22 different ones with two rails)."""
    different = patterns(4, rails)
    assert len(different) == count
    for rates in different:
        expect(rates, all_rings(4))


@pytest.mark.parametrize("seed", range(30))
def test_rings_reach_the_optimum(seed):
    """Up to four nodes and rails, dead and slow NICs: rings of any nodes in any order are enough."""
    rates = random_cluster(random.Random(seed), 4, 4)
    expect(rates, all_rings(rates.nodes))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1030))
def test_rings_reach_the_optimum_often(seed):
    """The same for 600 more clusters, of up to four nodes."""
    rng = random.Random(seed)
    for _ in range(20):
        rates = random_cluster(rng, 4, 4)
        expect(rates, all_rings(rates.nodes))


def test_one_order_and_fixed_owners_are_not_enough():
    """p=4 g=2, A and C lost rail 0, B lost rail 1: 8/3 with all rings.

    The rings of the fastest nodes alone take 3, and 4 if leaves talk to the owner of each section.
    """
    rates = cluster(4, 2, [(0, 0), (2, 0), (1, 1)])
    prefixes = sorted_prefixes(rates)
    assert least_time(rates, prefixes) == pytest.approx(3)
    assert least_time(rates, prefixes, fixed_owners=True) == pytest.approx(4)
    expect(rates, all_rings(4))


def test_fixed_owners_may_not_work_at_all():
    """Four nodes in a path: the ends must talk to different members of the ring in the middle, T* = 3."""
    rates = path(4)
    assert optimum(rates).time == 3
    assert least_time(rates, sorted_prefixes(rates), fixed_owners=True) == INFINITE
    expect(rates, all_rings(4))


def test_two_groups_that_share_one_node_need_more_than_rings():
    """p=5 g=2, nodes 0 and 4 on rail 1 only, 1 and 3 on rail 0 only, node 2 on both: T* = 8/3, rings take 3.

    Trees form a chain in each group at the same time, joined at node 2. A ring forms one in one group only,
    and each of the other group is a leaf of node 2. So rings in any order reach T* up to four nodes only.
    """
    rates = cluster(5, 2, [(0, 0), (4, 0), (1, 1), (3, 1)])
    assert optimum(rates).time == Fraction(8, 3)
    assert least_time(rates, all_rings(5)) == pytest.approx(3)


def test_five_nodes_in_a_path_need_relays():
    """No ring of the three in the middle closes without a relay, and two leave a leaf out; T* is still 4."""
    rates = path(5)
    assert optimum(rates).time == 4
    assert least_time(rates, all_rings(5)) == INFINITE


@pytest.mark.parametrize("seed", range(20))
def test_fewer_rings_are_never_better(seed):
    """Sorted prefixes take T* or longer, and longer still with fixed owners."""
    rates = random_cluster(random.Random(seed), 4, 4)
    bound = optimum(rates)
    free = least_time(rates, sorted_prefixes(rates))
    fixed = least_time(rates, sorted_prefixes(rates), fixed_owners=True)
    assert fixed * (1 + 1e-7) >= free
    assert free * (1 + 1e-7) >= (INFINITE if bound.time is None else float(bound.time))
