from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from algorithms.nic import Nic
from analysis import rail_bound
from analysis.errors import ModelError
from analysis.rail_rates import RailRates
from analysis.reports import bound, bound_bandwidths, bound_rails, text
from tests.analysis.clusters import RAIL_CASES, cluster

TABLE = """
4  1/8  1.143 1.095 1.111 1.032
4  1/2  2.000 1.667 1.333 1.333
8  1/8  1.143 1.082 1.061 1.016
8  1/2  2.000 1.571 1.143 1.143
16 1/4  1.333 1.178 1.031 1.016
64 1/2  2.000 1.508 1.016 1.016
"""
"""p, X, then ring, R2CC, pure OptCC and bound over the fault-free ring: derived by hand."""


@pytest.mark.parametrize("line", TABLE.split("\n")[1:-1])
def test_table_over_participants(line):
    """The numbers worked out by hand, to all printed digits."""
    report = bound.build()
    nodes, lost, *numbers = line.split()
    (row,) = [row for row in report.rows if row[:2] == (int(nodes), Fraction(lost))]
    assert [text.rounded(Fraction(value or 0), 3) for value in row[2:6]] == numbers


def test_table_says_what_is_unavoidable():
    """The bound's own overhead is at most 1/(p-1) for X up to 1/2, just that at 1/2 (paper 2: O(1/p))."""
    report = bound.build()
    for nodes, lost, overhead in zip(*map(report.values, ("participants", "lost", "overhead")), strict=True):
        assert overhead <= Fraction(1, nodes - 1)
        assert (overhead == Fraction(1, nodes - 1)) == (lost == Fraction(1, 2))


def test_bandwidths_of_the_example():
    """1, 1, 3/4, 1/2, derived by hand: 2 D/B, 4/3 of the healthy ring; the slowest node binds."""
    report = bound_bandwidths.build([Fraction(1), Fraction(1), Fraction(3, 4), Fraction(1, 2)])
    assert report.fact("time") == 2
    assert report.fact("over_healthy") == Fraction(4, 3)
    assert report.fact("binds") == "slowest node"
    assert report.values("weight") == [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5), 0]
    assert report.fact("mixture") == "2/5 by nodes 0, 1; 3/5 by nodes 0, 1, 2"
    assert max(report.numbers("busy")) == report.fact_number("time")


def test_bandwidths_where_traffic_binds():
    """If the total traffic binds, every node is busy all the time."""
    report = bound_bandwidths.build([Fraction(1), Fraction(1), Fraction(1), Fraction(3, 4)])
    assert report.fact("binds") == "total traffic"
    assert set(report.values("busy")) == {report.fact("time")} == {Fraction(8, 5)}


def test_one_node_alone_in_the_mixture_is_named():
    """A node much faster than all others may sum up alone."""
    report = bound_bandwidths.build([Fraction(1), Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)])
    assert "by node 0 alone" in str(report.fact("mixture"))


@pytest.mark.parametrize(("nodes", "rails", "dead", "best", "by_nodes"), RAIL_CASES)
def test_rails(nodes, rails, dead, best, by_nodes):
    """T* and the node bound of seven clusters, worked out when T* was derived."""
    report = bound_rails.build(cluster(nodes, rails, dead))
    wanted = math.inf if best is None else best
    assert report.fact("best") == wanted
    assert report.values("time")[:2] == [by_nodes, wanted]
    assert report.values("over_best")[1] == (None if best is None else 1)


def test_partition_and_remark_of_a_separated_cluster():
    """If live rails do not connect the nodes, the report names the groups and says that nothing completes."""
    cut = RailRates.of(4, 2, dead=[Nic(0, 0), Nic(2, 0), Nic(1, 1), Nic(3, 1)])
    report = bound_rails.build(cut)
    assert report.fact("partition") == "0, 2 | 1, 3"
    assert report.fact("degraded") == "0:0, 1:1, 2:0, 3:1"
    assert report.values("time")[1:] == [math.inf] * 3
    assert "no allreduce can complete" in report.notes[-1]


def test_slow_rails_are_named_with_their_fraction():
    """A NIC at a third of its rate is shown as such, beside a dead one."""
    report = bound_rails.build(RailRates.of(3, 2, dead=[Nic(0, 1)], slow={Nic(2, 0): Fraction(1, 3)}))
    assert report.fact("degraded") == "0:1, 2:0 at 1/3"


def test_balance_that_has_no_ring_is_explained():
    """Nodes 0 and 1 share no live rail: Balance in the order 0, 1, 2 has no such hop, and a note says so."""
    report = bound_rails.build(RailRates.of(3, 2, dead=[Nic(0, 0), Nic(1, 1)]))
    assert report.values("time")[2] == math.inf
    assert "another order may do" in report.notes[-1]


def test_many_single_parts_are_written_short():
    """64 parts of one node each are written as one range."""
    report = bound_rails.build(RailRates.of(64, 8, dead=[Nic(3, 1)]))
    assert report.fact("partition") == "each of 0-63 alone"


def test_inexact_bound_is_flagged(monkeypatch):
    """If the search was not complete, the report says that its number is a lower bound only."""
    exact = rail_bound.optimum
    monkeypatch.setattr(rail_bound, "optimum", lambda rates: replace(exact(rates), is_exact=False))
    report = bound_rails.build(RailRates.of(3, 2, dead=[Nic(0, 0)]))
    assert "not the exact optimum" in report.notes[-1]


@pytest.mark.parametrize(
    "make", [lambda: bound_bandwidths.build([Fraction(1)]), lambda: bound_rails.build(RailRates.of(1, 2))]
)
def test_a_single_node_is_refused(make):
    """One node exchanges nothing, so there is nothing to bound."""
    with pytest.raises(ModelError, match="single node"):
        make()
