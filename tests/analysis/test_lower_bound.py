from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import lower_bound
from analysis.errors import ModelError

_FLOAT: Any = 0.5
BANDWIDTHS = st.lists(st.fractions("1/8", 1, max_denominator=24), min_size=1, max_size=9)


def play(nodes, mixture):
    """Count what each node sends and receives, transfer by transfer, and check that sums are complete.

    In a ring each member owns a section. Its sum grows along the ring and ends at the owner; leaves give
    their contribution to the owner; the sum then goes round, and to the leaves.
    """
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    for size, share, members in mixture:
        part = share / size
        for owner in range(size):
            knows = {node: Counter([node]) for node in range(nodes)}

            def move(source, target, knows=knows, part=part):
                sent[source] += part
                received[target] += part
                return knows[source]

            around = [members[(owner + 1 + step) % size] for step in range(size)]
            for source, target in pairwise(around):
                knows[target] = knows[target] + move(source, target)
            leaves = sorted(set(range(nodes)) - set(members))
            for leaf in leaves:
                knows[members[owner]] = knows[members[owner]] + move(leaf, members[owner])
            for source, target in pairwise(around[-1:] + around[:-1]):
                knows[target] = move(source, target)
            for leaf in leaves:
                knows[leaf] = move(members[owner], leaf)
            assert all(known == Counter(range(nodes)) for known in knows.values())
    return sent, received


def busiest(bandwidths, mixture):
    """Time of the node that is busy longest."""
    loads = play(len(bandwidths), mixture)
    return max(load[node] / bandwidth for load in loads for node, bandwidth in enumerate(bandwidths))


@pytest.mark.parametrize(
    ("p", "lost", "printed"),
    [
        (4, "1/8", "1.032"),
        (4, "1/2", "1.333"),
        (8, "1/8", "1.016"),
        (8, "1/2", "1.143"),
        (16, "1/4", "1.016"),
        (64, "1/2", "1.016"),
    ],
)
def test_bound_of_one_straggler(p, lost, printed):
    """Times relative to the healthy ring, worked out when the bound was derived."""
    assert f"{1 + float(lower_bound.unavoidable_overhead(p, lost)):.3f}" == printed


def test_examples_by_hand():
    """Two nodes: the slower one binds. Four: 6 D at 13/4 takes 24/13, less than D at 1/2; at 7/2 it binds."""
    assert lower_bound.allreduce([1]) == 0
    assert lower_bound.allreduce([1, "1/2"]) == 2
    assert lower_bound.allreduce([1, 1, "3/4", "1/2"]) == 2
    assert lower_bound.allreduce([1, 1, "3/4", "3/4"]) == Fraction(12, 7)


@given(st.integers(2, 70), st.fractions(0, "99/100"))
def test_one_straggler_follows_the_closed_form(p, lost):
    """max(l, 2(p-1)/(p-1+1/l)), and the terms cross at l = (2p-3)/(p-1)."""
    slowdown = 1 / (1 - lost)
    assert lower_bound.one_straggler(p, lost) == max(slowdown, 2 * (p - 1) / (p - 1 + 1 / slowdown))
    crossing = Fraction(2 * p - 3, p - 1)
    expected = "both" if slowdown == crossing else "total traffic" if slowdown < crossing else "slowest node"
    assert lower_bound.binding_term([1] * (p - 1) + [1 - lost]) == expected


@pytest.mark.parametrize("p", range(2, 100))
def test_overhead_up_to_half_the_bandwidth_vanishes_with_p(p):
    """At most 1/(p-1) for l <= 2, reached at l = 2: so c/p with c = 2, or 3/2 from p = 3, and no less."""
    for eighths in range(5):
        assert lower_bound.unavoidable_overhead(p, Fraction(eighths, 8)) <= Fraction(1, p - 1)
    most = lower_bound.unavoidable_overhead(p, "1/2")
    assert most == Fraction(1, p - 1)
    assert most <= Fraction(2, p)
    assert most * p == 2 if p == 2 else most * p <= Fraction(3, 2)
    assert (most * p == Fraction(3, 2)) == (p == 3)


@pytest.mark.parametrize("p", [2, 8, 1000])
def test_overhead_beyond_half_the_bandwidth_does_not_vanish(p):
    """At l = 4 it is l p / (2(p-1)) - 1, more than 1 however many participants there are."""
    assert lower_bound.unavoidable_overhead(p, "3/4") == Fraction(2 * p, p - 1) - 1 > 1


@given(st.integers(2, 40), st.fractions(0, "9/10"), st.fractions(0, "9/10"))
def test_overhead_grows_with_what_is_lost(p, one, other):
    """So its largest value for l <= 2 is the one at l = 2, and at X = 0 it is 0."""
    less, more = sorted([one, other])
    assert (
        lower_bound.unavoidable_overhead(p, 0)
        == 0
        <= lower_bound.unavoidable_overhead(p, less)
        <= lower_bound.unavoidable_overhead(p, more)
    )


@given(BANDWIDTHS)
def test_mixture_reaches_the_bound(bandwidths):
    """Played transfer by transfer, every node gets the full sum and none is busy longer than the bound."""
    mixture = lower_bound.nested_mixture(bandwidths)
    assert sum(ring.share for ring in mixture) == 1
    assert busiest(bandwidths, mixture) == lower_bound.allreduce(bandwidths)


@pytest.mark.slow
def test_mixture_reaches_the_bound_often():
    """The same for 3,000 more clusters of up to 10 nodes."""
    rng = random.Random(1)
    for _ in range(3000):
        bandwidths = [Fraction(rng.randint(1, 24), 24) for _ in range(rng.randint(1, 10))]
        time = lower_bound.allreduce(bandwidths)
        assert busiest(bandwidths, lower_bound.nested_mixture(bandwidths)) == time


def test_the_player_tells_a_wrong_mixture():
    """Another mixture than that for these bandwidths keeps some node busy longer than the bound."""
    bandwidths = [Fraction(1), Fraction(1), Fraction(3, 4), Fraction(1, 2)]
    plain_ring = lower_bound.nested_mixture([1] * 4)
    assert busiest(bandwidths, plain_ring) == 3 > lower_bound.allreduce(bandwidths)
    with pytest.raises(AssertionError):
        play(4, [(3, Fraction(1), (0, 1, 1))])


@given(BANDWIDTHS)
def test_weights_are_what_the_rings_let_each_node_own(bandwidths):
    """They sum up to 1, keep 1 + (p-2) w within T b, and are what the rings add up to: f_k/k of each."""
    weights = lower_bound.water_filling(bandwidths)
    p, time = len(bandwidths), lower_bound.allreduce(bandwidths)
    assert sum(weights) == 1
    assert min(weights) >= 0
    if p >= 2:
        assert all(1 + (p - 2) * w <= time * b for w, b in zip(weights, bandwidths, strict=True))
    owned: Counter[int] = Counter()
    for size, share, members in lower_bound.nested_mixture(bandwidths):
        owned.update(dict.fromkeys(members, share / size))
    assert [owned[node] for node in range(p)] == weights


@pytest.mark.parametrize(
    ("bandwidths", "sizes"),
    [
        ([1, 1, 1, 1], [4]),
        # a straggler that binds owns nothing: OptCC's ring of the others
        ([1, 1, 1, "1/2"], [3]),
        # one that does not bind: the mixture of both
        ([1, 1, 1, "7/8"], [3, 4]),
        ([1, "1/2", "1/2"], [1]),
    ],
)
def test_known_mixtures(bandwidths, sizes):
    """Healthy: the plain ring. One straggler: OptCC's ring, with the plain one below l = (2p-3)/(p-1)."""
    assert [ring.size for ring in lower_bound.nested_mixture(bandwidths)] == sizes


@pytest.mark.parametrize("p", range(3, 12))
@pytest.mark.parametrize("lost", ["1/16", "1/8", "1/4", "1/3"])
def test_share_of_the_plain_ring_with_one_straggler(p, lost):
    """p/(p-2) (2p-3-l(p-1)) / (l(p-1)+1) of the data, where that is positive; derived for OptCC's mixture."""
    slowdown = 1 / (1 - Fraction(lost))
    share = Fraction(p, p - 2) * (2 * p - 3 - slowdown * (p - 1)) / (slowdown * (p - 1) + 1)
    mixture = lower_bound.nested_mixture([1] * (p - 1) + [1 - Fraction(lost)])
    assert {ring.size: ring.share for ring in mixture}.get(p, 0) == max(share, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lower_bound.allreduce([1, 0]), "node 1 has a bandwidth of 0"),
        (lambda: lower_bound.binding_term([1]), "a single node exchanges nothing"),
        (lambda: lower_bound.one_straggler(0, 0), "0 participants: give at least 1"),
        (lambda: lower_bound.one_straggler(4, 1), "lost = 1: a degraded node must keep some bandwidth"),
        (lambda: lower_bound.one_straggler(4, "-1/2"), "lost = -1/2"),
        (lambda: lower_bound.one_straggler(4, _FLOAT), "lost: 0.5 is no exact number"),
        (lambda: lower_bound.unavoidable_overhead(1, 0), "1 participants exchange nothing"),
    ],
)
def test_bad_input_is_refused(call, message):
    """One line that names what is wrong and what to give."""
    with pytest.raises(ModelError, match=message):
        call()


@pytest.mark.parametrize("lost", [0, "1/2"])
def test_a_single_participant_needs_no_time(lost):
    """It has nobody to exchange with."""
    assert lower_bound.one_straggler(1, lost) == 0
