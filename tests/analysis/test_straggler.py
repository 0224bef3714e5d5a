from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from analysis import lower_bound, papers
from analysis.cost_model import balance, overhead, r2cc_allreduce, ring
from analysis.errors import ModelError
from analysis.straggler import FORMS, mixture_share, optcc, port_times

LOST = [Fraction(0), Fraction(1, 8), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4)]
HALF = Fraction(1, 2)


def bound(p: int, lost: Fraction) -> Fraction:
    """max(l, 2 (p-1) / (p-1 + 1/l)), written out here so that the tests do not lean on `lower_bound`."""
    return max(1 / (1 - lost), 2 * (p - 1) / (p - 1 + (1 - lost)))


@pytest.mark.parametrize(
    ("p", "lost", "printed"),
    [
        (4, "1/8", ["1.143", "1.095", "1.111", "1.032"]),
        (4, "1/2", ["2", "1.667", "1.333", "1.333"]),
        (8, "1/8", ["1.143", "1.082", "1.061", "1.016"]),
        (8, "1/2", ["2", "1.571", "1.143", "1.143"]),
        (16, "1/4", ["1.333", "1.178", "1.031", "1.016"]),
        (64, "1/2", ["2", "1.508", "1.016", "1.016"]),
    ],
)
def test_the_table_over_p_and_x(p, lost, printed):
    """Ring, R2CC-AllReduce with Y = X, OptCC's four stages and the bound, over T_nf: derived by hand."""
    x = Fraction(lost)
    times = [balance(p, x), r2cc_allreduce(p, x), optcc(p, x), bound(p, x)]
    for time, digits in zip(times, printed, strict=True):
        assert abs(time / ring(p) - Fraction(digits)) <= Fraction(5, 10_000)


def test_the_example_of_three_nodes():
    """With n = 3, X = 1/3 OptCC meets the bound at 1.125 T_nf (derived by hand: l = 3/2 over 4/3)."""
    assert optcc(3, Fraction(1, 3)) == bound(3, Fraction(1, 3)) == Fraction("1.125") * ring(3)


@pytest.mark.parametrize("p", range(3, 40))
def test_overhead_at_half_the_bandwidth(p):
    """At l = 2 the four stages meet the bound, and its overhead is 1/(p-1)."""
    assert optcc(p, HALF) == bound(p, HALF) == 2
    assert overhead(optcc(p, HALF), p) == Fraction(1, p - 1)


@pytest.mark.parametrize(("p", "lost"), list(product(range(3, 20), LOST)))
def test_where_four_stages_meet_the_bound(p, lost):
    """They do exactly where l >= (2p-3)/(p-1); the mixture does everywhere."""
    slowdown = 1 / (1 - lost)
    assert (optcc(p, lost) == bound(p, lost)) == (slowdown >= Fraction(2 * p - 3, p - 1))
    assert optcc(p, lost, form="mixture") == bound(p, lost)
    assert bound(p, lost) == lower_bound.one_straggler(p, lost)


@pytest.mark.parametrize(("p", "lost"), list(product(range(3, 20), LOST)))
def test_in_the_mixture_everybody_is_busy(p, lost):
    """Where a part of the data takes the plain ring, straggler and healthy ports need the same time."""
    by_ring = mixture_share(p, lost)
    at_straggler, at_healthy = port_times(p, lost, "mixture")
    assert 0 <= by_ring <= 1
    assert (by_ring == 0) == (1 / (1 - lost) >= Fraction(2 * p - 3, p - 1))
    assert at_straggler == at_healthy or by_ring == 0
    if by_ring == 0:
        assert optcc(p, lost, 8, "mixture") == optcc(p, lost, 8)


def test_mixture_share_by_hand():
    """Share p/(p-2) (2p-3 - l(p-1)) / (l(p-1) + 1): p = 4, l = 4/3 gives 2 (5-4)/(4+1); X = 0 gives 1."""
    assert mixture_share(4, Fraction(1, 4)) == Fraction(2, 5)
    assert mixture_share(7, 0) == 1
    assert mixture_share(7, HALF) == 0


@pytest.mark.parametrize(("p", "lost"), list(product(range(3, 20), LOST)))
def test_equal_stripes_miss_the_bound_below_a_slowdown_of_two(p, lost):
    """max(l, (2(p-2)+l)/(p-1)): as good as planned shares from l = 2 on and where nothing is lost."""
    slowdown = 1 / (1 - lost)
    time = optcc(p, lost, form="equal-stripes")
    assert time == max(slowdown, (2 * (p - 2) + slowdown) / (p - 1))
    assert (time > bound(p, lost)) == (slowdown < 2)
    assert (time > optcc(p, lost)) == (1 < slowdown < 2)


@pytest.mark.parametrize(
    ("form", "fill"), [("simple", 2), ("overlay", HALF), ("mixture", 2), ("equal-stripes", 2)]
)
def test_filling_the_pipeline(form, fill):
    """K segments multiply the time by (K+2)/K, in the overlay by (K + 1/2)/K."""
    for p, lost, segments in product((3, 8), LOST, (1, 4, 16)):
        steady = optcc(p, lost, form=form)
        assert segments * (optcc(p, lost, segments, form) / steady - 1) == fill


def test_headline_of_paper_2():
    """57 % is R2CC-AllReduce at 8 nodes and X = 1/2 (57.1 %); the bound is 14.3 % there, 1.6 % at p = 64."""
    of_r2cc = overhead(r2cc_allreduce(8, HALF), 8)
    assert round(of_r2cc, 3) == Fraction("0.571")
    assert round(of_r2cc, 2) == papers.STATE_OF_THE_ART_OVERHEAD
    assert round(overhead(bound(8, HALF), 8), 3) == Fraction("0.143")
    assert round(overhead(bound(64, HALF), 64), 3) == Fraction("0.016")


def test_which_sizes_have_two_to_six_percent():
    """At X = 1/2 the bound's overhead 1/(p-1) lies between paper 2's 2 and 6 % for p = 18 to 51."""
    low, high = papers.OPTCC_OVERHEADS
    inside = [p for p in range(3, 200) if low <= overhead(optcc(p, papers.OPTCC_MAX_LOST), p) <= high]
    assert inside == list(range(18, 52))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optcc(2, HALF), r"p = 2: give a whole number, at least 3"),
        (lambda: optcc(4, 1), r"lost = 1: a degraded node must keep some bandwidth"),
        (lambda: optcc(4, HALF, 0), r"segments = 0: give a whole number, at least 1"),
        (
            lambda: optcc(4, HALF, form="both"),
            r"no form of OptCC 'both'; give one of simple, overlay, mixture, equal-stripes",
        ),
        (lambda: mixture_share(2, HALF), r"p = 2: give a whole number, at least 3"),
    ],
)
def test_bad_input_is_named(call, message):
    """Each argument that is out of range is refused by name, with what would do."""
    with pytest.raises(ModelError, match=message):
        call()


def test_every_form_has_a_time():
    """No form is without its formula, and none is faster than the bound."""
    for form, lost in product(FORMS, LOST):
        assert optcc(5, lost, 8, form) > bound(5, lost)
