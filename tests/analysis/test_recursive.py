from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import lower_bound, recursive
from analysis.errors import ModelError
from analysis.exact import Exact

FOUR: Sequence[Exact] = [1, 1, "3/4", "1/2"]
EIGHT: Sequence[Exact] = [1] * 6 + ["1/2"] * 2
ONE_FAST: Sequence[Exact] = [1] + ["1/2"] * 7


def over_healthy(time, bandwidths):
    """Time relative to the ring of healthy nodes."""
    return time / Fraction(2 * (len(bandwidths) - 1), len(bandwidths))


@pytest.mark.parametrize(
    ("bandwidths", "rule", "best", "nested"),
    [
        (FOUR, "1.667", "1.622", "1.333"),
        (EIGHT, "1.571", "1.561", "1.143"),
        # the rule uses a level of a single node and is slower than Balance, which takes 2
        (ONE_FAST, "3.000", "2.000", "1.778"),
    ],
)
def test_three_clusters(bandwidths, rule, best, nested):
    """Times relative to the healthy ring of three clusters, worked out when the form was derived."""
    by_rule = recursive.time(bandwidths, recursive.rule_shares(bandwidths))
    by_program = recursive.time(bandwidths, recursive.best_shares(bandwidths))
    bound = lower_bound.allreduce(bandwidths)
    printed = [f"{float(over_healthy(time, bandwidths)):.3f}" for time in (by_rule, by_program, bound)]
    assert printed == [rule, best, nested]


def test_first_cluster_by_hand():
    """1, 1, 3/4, 1/2: levels of 4, 3 and 2 nodes; shares 1/2, 1/4, 1/4.

    Stage 1: 3/2 of 1/2 over 1/2 = 3/2 at level 1, and no more at the others. Stage 2: the slowest node gives
    and gets 1/4 + 1/4 at bandwidth 1/2, which is 1; the third one carries 1/4 + 1/4 at 3/4, and the first
    two 1/4 + 3/2 of 1/4 at 1, all less. Together 5/2.
    """
    assert recursive.time(FOUR, recursive.rule_shares(FOUR)) == Fraction(5, 2)


@given(st.integers(3, 40), st.fractions(0, 1), st.fractions(0, 1))
def test_one_degraded_node_is_plain_r2cc_allreduce(n, lost, partial):
    """max(2(n-1)/n (1-Y)/(1-X), 2(n-2)/(n-1) Y/X) + Y/(1-X): the form of paper 1, finely pipelined."""
    if lost in {0, 1}:
        return
    first = max(
        Fraction(2 * (n - 1), n) * (1 - partial) / (1 - lost), Fraction(2 * (n - 2), n - 1) * partial / lost
    )
    time = recursive.time([1] * (n - 1) + [1 - lost], [1 - partial, partial])
    assert time == first + partial / (1 - lost)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=8), st.data())
def test_never_faster_than_the_bound(bandwidths, data):
    """Whatever the shares, the time is that of the lower bound or longer; one level is the plain ring."""
    count = len(set(bandwidths))
    weights = data.draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    time = recursive.time(bandwidths, [Fraction(weight, sum(weights)) for weight in weights])
    assert time >= lower_bound.allreduce(bandwidths)
    if count == 1:
        n = len(bandwidths)
        assert time == Fraction(2 * (n - 1), n) / bandwidths[0]


def test_best_shares_cannot_be_improved():
    """Moving a hundredth from any level to any other makes it slower; the best is exactly 60/37."""
    best = recursive.best_shares(FOUR)
    least = recursive.time(FOUR, best)
    assert over_healthy(least, FOUR) == Fraction(60, 37)
    for giver in range(3):
        for taker in {0, 1, 2} - {giver}:
            moved = list(best)
            moved[giver] -= Fraction(1, 100)
            moved[taker] += Fraction(1, 100)
            assert recursive.time(FOUR, moved) > least


@pytest.mark.parametrize("shares", [[], [1], ["1/2", "1/2"], ["1/2", 1, "-1/2"], ["1/2", "1/4", "1/8"]])
def test_other_numbers_than_shares_of_the_levels_are_refused(shares):
    """One share for each of the three levels, none negative, together 1."""
    with pytest.raises(ModelError, match="give one for each of the 3 levels of bandwidth, together 1"):
        recursive.time(FOUR, shares)
