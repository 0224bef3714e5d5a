from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from analysis import papers
from analysis.approximation_gap import best_partial, gap, gap_closed_form
from analysis.errors import ModelError
from analysis.two_stage import r2cc_allreduce, stages

NODES = [*range(2, 14), 16, 64, 1000]
LOST = [Fraction(step, 12) for step in range(12)] + [Fraction(1, 8), Fraction(7, 8), Fraction(99, 100)]
GRID = list(product(NODES, LOST))


@pytest.mark.parametrize(("setting", "printed"), list(papers.TABLE_1.items()))
def test_table_1(setting, printed):
    """All nine numbers of table 1 of paper 1, in every printed digit."""
    assert papers.rounded_like(100 * gap(*setting), printed) == printed


@pytest.mark.parametrize("factor", [Fraction(99, 100), Fraction(101, 100)])
def test_a_gap_that_is_off_by_a_percent_is_seen_in_table_1(factor):
    """The comparison with the printed digits is sharp enough: a hundredth more or less misses every one."""
    for setting, printed in papers.TABLE_1.items():
        wrong = 100 * gap(*setting) * factor
        assert papers.rounded_like(wrong, printed) != printed or printed < papers.TABLE_1[16, Fraction(1, 8)]


def test_the_gap_by_definition_is_the_closed_form():
    """The gap computed through `r2cc_allreduce` is the simplified fraction, on the whole grid exactly."""
    for n, lost in GRID:
        assert gap(n, lost) == gap_closed_form(n, lost)


def test_the_numerator_is_the_derived_one():
    """T(X) - T(Y*) is (n-2)/n X / (n (n-2) + X)."""
    for n, lost in GRID:
        difference = r2cc_allreduce(n, lost) - r2cc_allreduce(n, lost, best_partial(n, lost))
        assert difference == (Fraction(n - 2, n) * lost / (n * (n - 2) + lost) if lost else 0)


def test_the_best_share_ends_both_rings_together():
    """Y* solves T1 = T2, and lies from X to 1. With two nodes the partial ring has nothing to do."""
    for n, lost in GRID:
        if lost and n > 2:
            times = stages(n, lost, best_partial(n, lost))
            assert times.global_ring == times.partial_ring
        assert lost <= best_partial(n, lost) <= 1


def test_the_best_share_is_a_minimum():
    """Both neighbours at a distance of 1/10,000 are worse, and so are 40 values over the whole range."""
    for n, lost in GRID:
        if n == 2 or not lost:
            continue
        best = best_partial(n, lost)
        least = r2cc_allreduce(n, lost, best)
        near = [best - Fraction(1, 10_000), best + Fraction(1, 10_000)]
        for partial in [*near, *(Fraction(step, 40) for step in range(41))]:
            if 0 <= partial <= 1 and partial != best:
                assert r2cc_allreduce(n, lost, partial) > least


def test_by_hand():
    """For n = 4, X = 1/4: Y* = 9/4 / (8 + 1/4), gap 2 (3/16) / (12 (4 - 1/4)); n = 2 and X = 0 have none."""
    assert best_partial(4, Fraction(1, 4)) == Fraction(3, 11)
    assert gap(4, Fraction(1, 4)) == gap_closed_form(4, Fraction(1, 4)) == Fraction(1, 120)
    assert gap(2, Fraction(1, 4)) == gap(4, 0) == gap_closed_form(2, 0) == best_partial(2, 0) == 0


def test_the_gap_falls_as_the_square_of_the_nodes():
    """The rule Y = X loses ever less: n^2 times the gap stays below X, whatever n is."""
    for n, lost in GRID:
        assert n * n * gap(n, lost) <= lost


@pytest.mark.parametrize("function", [best_partial, gap, gap_closed_form])
def test_bad_input_is_named(function):
    """One node, and a node that has lost everything, are refused by name."""
    with pytest.raises(ModelError, match=r"n = 1: give a whole number, at least 2"):
        function(1, Fraction(1, 2))
    with pytest.raises(ModelError, match=r"lost = 1: a degraded node must keep some bandwidth"):
        function(4, 1)
