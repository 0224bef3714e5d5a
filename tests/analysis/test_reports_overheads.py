from __future__ import annotations

import math
from fractions import Fraction

import pytest

from analysis import papers
from analysis.errors import ModelError
from analysis.reports import figure7, training
from analysis.reports.degraded import Degraded, spread


@pytest.mark.parametrize("rails", range(2, 13))
def test_spread_dead_rails_are_the_best_case(rails):
    """With dead rails spread, no rail serves more than g/(g-f) shares, rounded up: fewer are impossible."""
    for dead in range(1, rails):
        chosen = spread(rails, dead)
        assert len(set(chosen)) == dead
        assert Degraded(4, rails, chosen).hot_repair() == -(-rails // (rails - dead))
        # side by side all their shares end on the next rail
        assert Degraded(4, rails, tuple(range(dead))).hot_repair() == dead + 1


def test_degraded_by_share():
    """The smallest number of rails that allows X, or the one asked for."""
    assert Degraded.by_share(4, Fraction(3, 8)).rails == 8
    assert Degraded.by_share(4, Fraction(1, 4), rails=8).dead == (3, 7)
    assert Degraded.by_share(4, Fraction(1, 4), rails=8).lost == Fraction(1, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Degraded(1, 2, (0,)), "give at least 2"),
        (lambda: Degraded(2, 2, ()), "0 of 2 rails lost"),
        (lambda: Degraded(2, 2, (0, 1)), "2 of 2 rails lost"),
        (lambda: Degraded(2, 2, (2,)), "there is no rail 2"),
        (lambda: Degraded.by_share(2, Fraction(1)), "more than 0, less than 1"),
        (lambda: Degraded.by_share(2, Fraction(0)), "more than 0, less than 1"),
        (lambda: Degraded.by_share(2, Fraction(1, 3), rails=4), "multiple of 3 rails"),
        (lambda: figure7.build(4, 1), "at least 2 rails"),
        (lambda: training.build(Degraded(2, 2, (0,))), "at least 3"),
        (lambda: training.build(exposed=[Fraction(3, 2)]), "exposed_share"),
    ],
)
def test_impossible_cases_are_refused(make, message):
    """No node degraded, no rail left, a share that is no number of rails: one line says what would do."""
    with pytest.raises(ModelError, match=message):
        make()


def test_figure_7_by_hand():
    """At n = 4, X = 1/2: Balance X/(1-X) = 1, R2CC-AllReduce nX/(2(n-1)(1-X)) = 2/3, OptCC and bound 1/3."""
    report = figure7.build(4, 8)
    row = dict(zip([column.key for column in report.columns], report.rows[3], strict=True))
    assert row["lost"] == Fraction(1, 2)
    assert row["hot_repair"] == 1
    assert row["hot_repair_adjacent"] == 4
    assert row["balance"] == 1
    assert row["r2cc"] == Fraction(2, 3)
    # two more hops of Y/K = 1/8 each, over 3/2
    assert row["r2cc_pieces"] == Fraction(2, 3) + Fraction(2, 8) / Fraction(3, 2)
    assert row["optcc"] == row["bound"] == Fraction(1, 3)


@pytest.mark.parametrize(("nodes", "rails"), [(3, 3), (4, 8), (8, 8), (64, 4)])
def test_figure_7_follows_the_closed_forms(nodes, rails):
    """Overheads of paper 1's closed forms at each X = f/g, and nothing is below the bound."""
    report = figure7.build(nodes, rails)
    assert report.values("lost") == [Fraction(dead, rails) for dead in range(1, rails)]
    for lost, balance, r2cc in zip(*map(report.values, ("lost", "balance", "r2cc")), strict=True):
        assert balance == lost / (1 - lost)
        assert r2cc == nodes * lost / (2 * (nodes - 1) * (1 - lost))
    for key in ("hot_repair", "hot_repair_adjacent", "balance", "r2cc_pieces", "r2cc", "optcc"):
        pairs = zip(report.numbers(key), report.numbers("bound"), strict=True)
        assert all(ours >= bound for ours, bound in pairs)


def test_figure_7_of_two_nodes_has_no_optcc():
    """OptCC needs two healthy nodes; with one, Balance is the bound."""
    report = figure7.build(2, 4)
    assert report.values("optcc") == [None] * 3
    assert report.values("balance") == report.values("bound")


def test_training_by_hand():
    """One NIC of eight, four nodes: Balance 1/7, and 1.1 % (abstract of paper 1) at 7.7 % exposed."""
    report = training.build()
    schemes = report.values("scheme")
    balance = schemes.index("Balance")
    assert report.values("allreduce_overhead")[balance] == Fraction(1, 7)
    assert report.values("iteration_at_1/10")[balance] == Fraction(1, 70)
    assert report.values("exposed_for_target")[balance] == Fraction(77, 1000)
    for overhead, share in zip(
        report.values("allreduce_overhead"), report.values("exposed_for_target"), strict=True
    ):
        assert Fraction(overhead or 0) * Fraction(share or 0) == papers.TRAINING_OVERHEAD


def test_training_takes_other_shares():
    """Shares are sorted, each once; a share of zero costs nothing, a share of one the whole overhead."""
    report = training.build(exposed=[Fraction(1), Fraction(0), Fraction(1)])
    keys = [column.key for column in report.columns]
    assert keys == ["scheme", "allreduce_overhead", "iteration_at_0", "iteration_at_1", "exposed_for_target"]
    assert set(report.values("iteration_at_0")) == {0}
    assert report.values("iteration_at_1") == report.values("allreduce_overhead")


def test_training_target_out_of_reach():
    """On many nodes the bound's overhead is below 1.1 % itself: no exposed share reaches it."""
    report = training.build(Degraded.by_share(64, Fraction(1, 8)))
    assert report.values("exposed_for_target")[-1] is None
    assert math.isnan(report.numbers("exposed_for_target")[-1])
