from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from analysis import straggler, two_stage, with_alpha
from analysis.errors import ModelError

LOST = [Fraction(1, 8), Fraction(1, 3), Fraction(1, 2)]
ALPHAS = [Fraction(1, 10), Fraction(1, 100), Fraction(1, 777)]


@pytest.mark.parametrize(("n", "lost", "alpha"), list(product((2, 3, 6, 16), LOST, ALPHAS)))
def test_the_best_pieces_are_the_best_of_all(n, lost, alpha):
    """Bisection finds the least cost and the smallest K that has it, as trying every K does."""
    costs = [
        lambda k: with_alpha.r2cc_allreduce(n, lost, alpha, None, k),
        lambda k: with_alpha.r2cc_allreduce(n, lost, alpha, None, k, "helper"),
        lambda k: with_alpha.r2cc_allreduce(n, lost, alpha, None, k, "helper", 2),
        *(lambda k, form=form: with_alpha.optcc(n + 1, lost, alpha, k, form) for form in straggler.FORMS),
    ]
    for cost in costs:
        most = 40
        times = [cost(k) for k in range(1, most + 1)]
        best = times.index(min(times)) + 1
        assert with_alpha.best_pieces(cost, most) == (best, min(times))


@pytest.mark.parametrize(("n", "lost", "alpha"), list(product((2, 3, 6), LOST, ALPHAS)))
def test_pieces_left_open_are_the_best(n, lost, alpha):
    """None means the best K for this alpha, in every form; with two nodes that is one piece."""
    for form, parts in (("chain", None), ("helper", None), ("helper", 2)):
        tried = [with_alpha.r2cc_allreduce(n, lost, alpha, None, k, form, parts) for k in range(1, 80)]
        assert with_alpha.r2cc_allreduce(n, lost, alpha, None, None, form, parts) == min(tried)
    for form in straggler.FORMS:
        tried = [with_alpha.optcc(n + 1, lost, alpha, k, form) for k in range(1, 80)]
        assert with_alpha.optcc(n + 1, lost, alpha, form=form) == min(tried)


@pytest.mark.parametrize(("n", "alpha"), list(product((3, 5, 9), ALPHAS)))
def test_a_fine_broadcast_is_as_good_as_the_best_cut(n, alpha):
    """Parts that K need not divide are never worse than the best whole S, and the same where K is free."""
    lost = Fraction(1, 3)
    for pieces in (1, 3, 8):
        fine = with_alpha.r2cc_allreduce(n, lost, alpha, None, pieces, "helper")
        cuts = [
            with_alpha.r2cc_allreduce(n, lost, alpha, None, pieces, "helper", parts) for parts in range(1, 60)
        ]
        assert fine <= min(cuts) if pieces > 1 else fine == min(cuts)
    free = with_alpha.r2cc_allreduce(n, lost, alpha, None, None, "helper")
    assert free == with_alpha.r2cc_allreduce(n, lost, alpha, None, None, "helper", 1)


def test_the_fine_forms_are_the_limit_of_small_alpha():
    """As alpha vanishes the best K grows and the time tends to the finely pipelined closed form."""
    lost = Fraction(1, 3)
    for exponent in range(4, 13, 4):
        alpha = Fraction(1, 10**exponent)
        chain = with_alpha.r2cc_allreduce(6, lost, alpha) - two_stage.r2cc_allreduce(6, lost)
        helper = with_alpha.r2cc_allreduce(6, lost, alpha, form="helper") - two_stage.r2cc_allreduce(6, lost)
        optcc = with_alpha.optcc(6, lost, alpha) - straggler.optcc(6, lost)
        # the least of c/K + a K is 2 sqrt(a c), so every excess shrinks as the root of alpha
        assert all(excess > 0 and excess**2 < 400 * alpha for excess in (chain, helper, optcc))


@pytest.mark.parametrize(
    ("cost", "most", "pieces", "time"),
    [
        (lambda k: Fraction(9, k) + k, 1024, 3, 6),
        (lambda k: Fraction(6, k) + k, 1024, 2, 5),  # so has K = 3
        (lambda k: Fraction(1, k), 1024, 1024, Fraction(1, 1024)),
        (lambda k: k + Fraction(0), 1024, 1, 1),
        (lambda k: abs(Fraction(k) - 5000), None, 5000, 0),
    ],
)
def test_best_pieces_by_hand(cost, most, pieces, time):
    """The least cost, the smaller K of two equally good ones, and the limit where that binds."""
    assert with_alpha.best_pieces(cost, most) == (pieces, time)


def test_best_pieces_asks_for_few_costs():
    """Up to 1024 pieces it computes the cost of some twenty numbers, not of all."""
    asked = []

    def cost(k):
        asked.append(k)
        return Fraction(300**2, k) + k

    pieces, time = with_alpha.best_pieces(cost)
    assert pieces == 300
    assert time == 600
    assert len(asked) <= 2 * 10 + 1


def test_a_limit_below_one_is_refused():
    """There is no best of no numbers."""
    with pytest.raises(ModelError, match="most = 0: give a whole number, at least 1"):
        with_alpha.best_pieces(Fraction, most=0)
