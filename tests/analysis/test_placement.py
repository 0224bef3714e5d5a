from __future__ import annotations

import random
from fractions import Fraction

import pytest

from algorithms.nic import Nic
from algorithms.re_ranking import common_capacity, re_rank
from analysis import placement, planner, rail_bound, rail_costs
from analysis.placement import Placement, Times, times
from tests.analysis.clusters import RAIL_CASES


def general(rates):
    """Ask the general models: the three rings and T*."""
    order = re_rank(common_capacity(rates.rates))
    return (
        rail_costs.hot_repair(rates),
        rail_costs.balance(rates),
        rail_costs.balance(rates, order),
        rail_bound.optimum(rates).time,
    )


def short_cuts(case):
    """Ask for the same here."""
    found = times(case)
    return found.hot_repair, found.balance, found.re_ranked, found.bound


def fields(case):
    """Work out all times of a placement."""
    return times(case)


def draw(generator, nodes, rails, dead):
    """Draw a placement."""
    return Placement.of(
        nodes, rails, [Nic(*divmod(nic, rails)) for nic in generator.sample(range(nodes * rails), dead)]
    )


def small_cases(count):
    """Draw placements on small clusters, where most short cuts do not hold, some of them cut off."""
    generator = random.Random(5)
    for _ in range(count):
        nodes, rails = generator.randint(2, 9), generator.randint(1, 5)
        yield draw(generator, nodes, rails, generator.randint(1, min(nodes * rails, 9)))


def large_cases():
    """Draw placements on 64 nodes of 8 rails, where all of them hold."""
    generator = random.Random(6)
    return [draw(generator, 64, 8, dead) for dead in (1, 2, 3, 6, 10, 16, 24)]


def differences(cases):
    """List the placements for which the general models say something else."""
    return [case for case in cases if short_cuts(case) != general(case.rates())]


def test_short_cuts_give_what_the_general_models_give():
    """300 small clusters and 7 large ones: rings and T* are equal fractions, or infinite together."""
    assert differences(small_cases(300)) == []
    assert differences(large_cases()) == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_most_shares", lambda rails, dead: 1 + dead.bit_count()),
        ("_ring_with", lambda case, lacking: Fraction(2)),
        ("bound", lambda case: Fraction(case.rails, case.rails - 1)),
    ],
)
def test_a_wrong_short_cut_is_seen(monkeypatch, name, wrong):
    """Each short cut, spoiled, is found by the comparison above."""
    monkeypatch.setattr(placement, name, wrong)
    assert differences([case for case in large_cases() if placement.is_connected(case)])


def test_whether_live_rails_connect_all_nodes():
    """As the groups of the general description: with a healthy node, without one, and with a node cut off."""
    cases = list(small_cases(300))
    assert {placement.is_connected(case) for case in cases} == {True, False}
    for case in cases:
        assert placement.is_connected(case) == (len(case.rates().groups()) == 1)


def test_the_best_is_the_planners():
    """On large clusters the fastest scheme is that of the planner's whole list, alpha being zero."""
    for case in large_cases():
        assert times(case).best == planner.plan(case.rates(), alpha=Fraction(0)).candidates[0].time


def test_one_dead_rail_of_eight_by_hand():
    """64 nodes: HotRepair 2 and Balance 8/7 times 126/64, T* 126 / (64 - 1/8), which OptCC nearly reaches."""
    ring = Fraction(126, 64)
    found = fields(Placement.of(64, 8, [Nic(5, 3)]))
    assert found.hot_repair == 2 * ring
    assert found.balance == found.re_ranked == ring * 8 / 7
    assert found.bound == Fraction(126 * 8, 511)
    # R2CC-AllReduce, finely pipelined: n X / (2 (n-1) (1-X)); the planner takes up to 1,024 pieces
    least = ring * (1 + Fraction(64, 2 * 63 * 7))
    assert least < found.r2cc < least * Fraction(101, 100)
    assert found.bound < found.best < found.bound * Fraction(101, 100)


def test_neighbours_are_worse_than_others_for_balance():
    """Two dead rails on neighbours cost 8/6, re-ranked or apart 8/7; on one node 8/6 in any order."""
    ring = Fraction(126, 64)
    side_by_side = times(Placement.of(64, 8, [Nic(0, 0), Nic(63, 1)]))
    assert (side_by_side.balance, side_by_side.re_ranked) == (ring * 8 / 6, ring * 8 / 7)
    apart = times(Placement.of(64, 8, [Nic(0, 0), Nic(2, 1)]))
    assert (apart.balance, apart.re_ranked) == (ring * 8 / 7, ring * 8 / 7)
    one_node = times(Placement.of(64, 8, [Nic(0, 0), Nic(0, 1)]))
    assert (one_node.balance, one_node.re_ranked) == (ring * 8 / 6, ring * 8 / 6)


@pytest.mark.parametrize(("nodes", "rails", "dead", "best", "by_nodes"), RAIL_CASES)
def test_the_seven_clusters_of_the_bound(nodes, rails, dead, best, by_nodes):
    """T* of the clusters worked out when it was derived; no scheme is below, though the node bound may be."""
    found = fields(Placement.of(nodes, rails, [Nic(*nic) for nic in dead]))
    assert found.bound == best
    if best is None:
        assert found == Times(None, None, None, None, None, None)
    else:
        assert found.best >= best >= by_nodes


def test_no_scheme_is_believed_below_the_bound_of_rails():
    """3 nodes of 2 rails, 0 and 1 lost rail 0: nested OptCC is taken for T* = 8/3, not for the nodes' 2."""
    case = Placement.of(3, 2, [Nic(0, 0), Nic(1, 0)])
    named = {one.scheme: one.time for one in planner.plan(case.rates(), alpha=Fraction(0)).candidates}
    assert named["nested-optcc"] == Fraction(8, 3) * Fraction(1027, 1024)
    assert times(case).best == times(case).bound == Fraction(8, 3)


def test_a_node_without_a_rail_stops_everything():
    """Also if all others are healthy: every time is infinite."""
    found = times(Placement.of(64, 2, [Nic(9, 0), Nic(9, 1)]))
    assert found == Times(None, None, None, None, None, None)
