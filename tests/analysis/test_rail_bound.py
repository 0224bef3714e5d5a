from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.nic import Nic
from analysis import lower_bound, rail_bound, tightest_partition
from analysis.errors import ModelError
from analysis.rail_bound import INFINITE, RailBound, by_linear_program, by_partitions, optimum, partition_time
from analysis.rail_rates import RailRates
from tests.analysis.clusters import RAIL_CASES, cluster, random_cluster

RATES = st.integers(2, 6).flatmap(
    lambda nodes: st.integers(1, 4).flatmap(
        lambda rails: st.lists(
            st.lists(st.integers(0, 4).map(Fraction), min_size=rails, max_size=rails).map(tuple),
            min_size=nodes,
            max_size=nodes,
        ).map(lambda rates: RailRates(tuple(rates)))
    )
)


def as_float(bound):
    """Write the time of a bound as the linear program does."""
    return INFINITE if bound.time is None else float(bound.time)


@pytest.mark.parametrize(("nodes", "rails", "dead", "time", "node_bound"), RAIL_CASES)
def test_seven_clusters(nodes, rails, dead, time, node_bound):
    """The optimum of the seven clusters, worked out when it was derived, and the node bound."""
    rates = cluster(nodes, rails, dead)
    assert optimum(rates) == by_partitions(rates)
    assert optimum(rates).time == time
    assert optimum(rates).is_exact
    assert lower_bound.allreduce(rates.bandwidths()) == node_bound


@pytest.mark.parametrize(("nodes", "rails", "dead", "time", "_node_bound"), RAIL_CASES)
def test_seven_clusters_by_linear_program(nodes, rails, dead, time, _node_bound):
    """The packing of trees gives the same seven times."""
    expected = INFINITE if time is None else float(time)
    assert by_linear_program(cluster(nodes, rails, dead)) == pytest.approx(expected, rel=1e-9)


def test_one_case_by_hand():
    """Two nodes share one live rail of three: D each way at 1/3 of the bandwidth takes 3."""
    bound = optimum(cluster(2, 3, [(0, 0), (1, 1)]))
    assert bound == RailBound(Fraction(3), ((0,), (1,)))


@given(RATES)
def test_search_and_full_enumeration_agree(rates):
    """Time and finest binding partition are those found by a look at every partition."""
    assert optimum(rates) == by_partitions(rates)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_search_and_full_enumeration_agree_often(seed):
    """The same for 2,000 clusters of up to 7 nodes and 6 rails."""
    rng = random.Random(seed)
    for _ in range(100):
        rates = random_cluster(rng, 7, 6)
        assert optimum(rates) == by_partitions(rates)


@pytest.mark.parametrize("seed", range(60))
def test_packing_of_trees_reaches_the_bound_of_partitions(seed):
    """The linear program, which knows no partition, gives the same time: T* is a bound that is reached."""
    rates = random_cluster(random.Random(seed), 5, 4)
    assert by_linear_program(rates) == pytest.approx(as_float(optimum(rates)), rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1050))
def test_packing_of_trees_reaches_the_bound_of_partitions_often(seed):
    """The same for 5,000 more clusters, of equal NICs and of slow ones."""
    rng = random.Random(seed)
    for number in range(100):
        rates = random_cluster(rng, 5, 4, rates=(0, 0, 1, 1, 1) if number % 2 else (0, 1, 2, 3, 4, 4, 4))
        assert by_linear_program(rates) == pytest.approx(as_float(optimum(rates)), rel=1e-7)


@pytest.mark.parametrize("rails", range(1, 9))
def test_one_degraded_node_costs_what_the_node_bound_says(rails):
    """For p to 6, g to 8 and any number of dead rails at one node, its rails lose nothing more."""
    for nodes in range(1, 7):
        for failed in range(rails):
            rates = cluster(nodes, rails, [(0, rail) for rail in range(failed)])
            bound = optimum(rates)
            assert bound.time == lower_bound.one_straggler(nodes, Fraction(failed, rails))
            assert bound.time == lower_bound.allreduce(rates.bandwidths())


@given(RATES)
def test_infinite_means_disconnected(rates):
    """The time is infinite iff live rails leave the nodes in several groups; the partition names them."""
    bound = optimum(rates)
    groups = tuple(map(tuple, rates.groups()))
    assert (bound.time is None) == (len(groups) > 1)
    if bound.time is None:
        assert bound.partition == groups
    elif min(rates.bandwidths()) > 0:
        assert bound.time >= lower_bound.allreduce(rates.bandwidths())


@given(RATES, st.randoms(use_true_random=False), st.fractions("1/3", 3))
def test_names_and_units_do_not_matter(rates, rng, factor):
    """Renumbered nodes and rails take as long; rates times c take 1/c of it."""
    nodes, rails = list(range(rates.nodes)), list(range(rates.rails))
    rng.shuffle(nodes)
    rng.shuffle(rails)
    other = RailRates(tuple(tuple(factor * rates.rates[node][rail] for rail in rails) for node in nodes))
    bound, renamed = optimum(rates), optimum(other)
    assert renamed.time == (None if bound.time is None else bound.time / factor)
    parts = {frozenset(nodes[node] for node in part) for part in renamed.partition}
    assert parts == set(map(frozenset, bound.partition))


@given(RATES, st.data())
def test_nodes_that_are_alike_stay_together_or_all_apart(rates, data):
    """Those of one kind are in one part, or each in a part of its own."""
    kinds = st.lists(st.integers(0, rates.nodes - 1), min_size=2, max_size=8)
    alike = RailRates(tuple(rates.rates[kind] for kind in data.draw(kinds)))
    bound = optimum(alike)
    part_of = {node: part for part in bound.partition for node in part}
    by_row: dict[tuple[Fraction, ...], set[tuple[int, ...]]] = {}
    for node, row in enumerate(alike.rates):
        by_row.setdefault(row, set()).add(part_of[node])
    # Dead nodes are groups of their own, so they follow the rule too.
    assert all(len(parts) == 1 or all(len(part) == 1 for part in parts) for parts in by_row.values())


def test_a_large_cluster_with_a_bottleneck():
    """64 nodes, 8 rails: two halves that share no rail, and one relay with one NIC of 1/8 to each.

    Data D has to go into each half and out of it through one NIC: T* = 8, while the relay's bandwidth of 1/4
    makes the node bound 4 at least. The finest partition that binds has three parts.
    """
    halves = [range(32), range(32, 63)]
    dead = [(i, r) for i in halves[0] for r in range(4, 8)] + [(i, r) for i in halves[1] for r in range(4)]
    dead += [(63, rail) for rail in range(8) if rail not in {0, 4}]
    rates = cluster(64, 8, dead)
    bound = optimum(rates)
    assert bound == RailBound(Fraction(8), (tuple(halves[0]), tuple(halves[1]), (63,)), is_exact=True)
    assert lower_bound.allreduce(rates.bandwidths()) == 4


@pytest.mark.parametrize("lost", [1, 4, 7])
def test_a_large_cluster_with_one_straggler(lost):
    """64 nodes, 8 rails: the node bound of one straggler, exactly."""
    rates = cluster(64, 8, [(9, rail) for rail in range(lost)])
    assert optimum(rates).time == lower_bound.one_straggler(64, Fraction(lost, 8))


def test_a_large_cluster_of_all_kinds_of_nodes():
    """64 nodes, 8 rails, no two alike: the partition's own time, below no cut into two and the node bound."""
    rng = random.Random(8)
    rates = RailRates(
        tuple(tuple(Fraction(rng.choice([0, 1, 2, 3]), 24) for _ in range(8)) for _ in range(64))
    )
    bound = optimum(rates)
    assert bound.time is not None
    assert bound.time == partition_time(rates, bound.partition)
    assert bound.time >= lower_bound.allreduce(rates.bandwidths())
    for node in range(64):
        cut = partition_time(rates, [[node], [other for other in range(64) if other != node]])
        assert cut is not None
        assert cut <= bound.time


@pytest.mark.parametrize("seed", range(20))
def test_rates_with_large_denominators_are_exact(seed):
    """Numbers beyond 64 bits change nothing: the time is that of the full enumeration."""
    rng = random.Random(seed)
    rates = RailRates(
        tuple(tuple(Fraction(rng.randint(0, 3), rng.randint(10**8, 10**9)) for _ in "gh") for _ in range(4))
    )
    assert optimum(rates) == by_partitions(rates)


@pytest.mark.parametrize("seed", range(20))
def test_too_many_kinds_of_rails_give_a_bound_and_say_so(seed):
    """16 rails that all differ: never above the optimum, marked, never below the parts of one node each."""
    rng = random.Random(seed)
    rates = RailRates(tuple(tuple(Fraction(rng.randint(0, 3), 16) for _ in range(16)) for _ in range(5)))
    bound, exact = optimum(rates), by_partitions(rates)
    assert not bound.is_exact
    assert exact.is_exact
    assert bound.time is not None
    assert exact.time is not None
    apart = partition_time(rates, [[node] for node in range(5)])
    assert apart is not None
    assert apart <= bound.time <= exact.time


def test_comparison_tells_a_search_that_looks_at_too_little(monkeypatch):
    """A search that never looks at a set of rails is caught by the comparison with the full enumeration."""
    complete = tightest_partition._sets_of_rails
    monkeypatch.setattr(tightest_partition, "_sets_of_rails", lambda kinds: (complete(kinds)[0][:1], True))
    rng = random.Random(0)
    sample = [random_cluster(rng, 5, 4) for _ in range(100)]
    assert any(optimum(rates) != by_partitions(rates) for rates in sample)


def test_comparison_tells_a_wrong_formula(monkeypatch):
    """Without the term of the largest part the formula is caught by the linear program."""
    monkeypatch.setattr(
        rail_bound, "crossing_rate", lambda rates, _partition: sum(map(sum, rates), Fraction(0))
    )
    rates = cluster(2, 3, [(0, 0), (1, 1)])
    assert as_float(by_partitions(rates)) < 0.9 * by_linear_program(rates)


def test_every_partition_is_tried_once():
    """Bell's numbers: 1, 2, 5, 15, 52, 203, all different, each with every node once."""
    for nodes, count in enumerate([1, 2, 5, 15, 52, 203], start=1):
        partitions = list(rail_bound._partitions(nodes))
        assert len(partitions) == len(set(partitions)) == count
        for parts in partitions:
            assert Counter(node for part in parts for node in part) == Counter(range(nodes))
            assert list(parts) == sorted(tuple(sorted(part)) for part in parts)


@pytest.mark.parametrize("compute", [optimum, by_partitions])
def test_a_single_node_needs_no_time(compute):
    """Even with no live rail: it has nobody to exchange with."""
    rates = RailRates.of(1, 2, [Nic(0, 0), Nic(0, 1)])
    assert compute(rates).time == 0
    assert by_linear_program(rates) == 0


@pytest.mark.parametrize("partition", [[[0, 1, 2]], [[0], [1]], [[0], [1, 1], [2]], [[0, 1, 2], []]])
def test_what_is_no_partition_is_refused(partition):
    """Two parts or more, none empty, each node once."""
    with pytest.raises(ModelError, match="does not divide 3 nodes: give two parts or more"):
        partition_time(RailRates.of(3, 2), partition)


def test_too_many_nodes_for_the_full_enumeration_are_refused():
    """Eleven nodes have 678,570 partitions; the error names the function to use."""
    with pytest.raises(ModelError, match=r"11 nodes have too many partitions .* use optimum\(\)"):
        by_partitions(RailRates.of(11, 2))


def test_infinite_is_a_float_that_compares():
    """Reports can compare it with any time."""
    assert math.inf == INFINITE
