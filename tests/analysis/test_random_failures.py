from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pytest

from algorithms.nic import Nic
from analysis import random_failures
from analysis.errors import ModelError
from analysis.placement import Placement, is_connected
from analysis.random_failures import Summary, cut_off_probability, study, summarise


def share_cut_off(nodes, rails, dead):
    """Look at every set of dead NICs."""
    cases = [
        Placement.of(nodes, rails, [Nic(*divmod(nic, rails)) for nic in one])
        for one in combinations(range(nodes * rails), dead)
    ]
    return Fraction(sum(not is_connected(case) for case in cases), len(cases))


def test_four_rails_two_dead_by_hand():
    """Of the 6 pairs of NICs of 2 nodes with 2 rails only the two that are one rail leave a common rail."""
    found = study(2, 2, 2, samples=6, seed=1)
    assert (found.samples, found.is_complete, found.cut_off) == (6, True, Fraction(2, 3))
    assert found.schemes["balance"] == Summary(None, None, None, None)
    assert summarise({Fraction(1): 2, None: 4}) == Summary(None, None, None, None)


def test_three_nodes_one_dead_by_hand():
    """3 nodes of 2 rails: each of the 6 placements costs HotRepair and Balance 1, and T* = 2 over 4/3."""
    found = study(3, 2, 1, samples=100, seed=1)
    assert (found.samples, found.is_complete) == (6, True)
    assert found.cut_off == 0
    for scheme in ("hot_repair", "balance", "re_ranked"):
        assert found.schemes[scheme] == Summary(*4 * [Fraction(1)])
    assert found.schemes["bound"] == Summary(*4 * [Fraction(1, 2)])


def test_percentiles_are_values_that_occur():
    """20 overheads, one large: p95 is the 19th, the median the 10th; exact means; infinity sorts last."""
    ladder = [Fraction(step) for step in range(1, 20)]
    assert list(summarise(Counter([*ladder, Fraction(100)]))) == [Fraction(29, 2), 10, 19, 100]
    assert list(summarise(Counter([*ladder, None]))) == [None, 10, 19, None]
    assert list(summarise(Counter([*ladder, None, None]))) == [None, 11, None, None]
    assert summarise({Fraction(1, 3): 7}) == Summary(*4 * [Fraction(1, 3)])


def test_equal_seeds_draw_equal_placements():
    """The same seed gives the same study to the last digit, another seed another one."""
    one, same, other = (study(64, 8, 10, samples=200, seed=seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def mean_of_balance(samples, seed):
    """Draw two dead rails of 3 nodes with 3."""
    return study(3, 3, 2, samples=samples, seed=seed).schemes["balance"].mean


def test_sampling_agrees_with_looking_at_all():
    """3 nodes of 3 rails, 2 dead: 2,100 draws have nearly the mean of the 36 placements there are."""
    exact = study(3, 3, 2, samples=36, seed=1)
    drawn = study(3, 3, 2, samples=35, seed=1)
    assert (exact.is_complete, drawn.is_complete) == (True, False)
    many = [mean_of_balance(samples=35, seed=seed) for seed in range(60)]
    mean = sum(many, Fraction(0)) / len(many)
    assert abs(mean / mean_of_balance(samples=36, seed=1) - 1) < Fraction(5, 100)


def test_a_skewed_draw_would_be_seen(monkeypatch):
    """Draws that prefer the first NICs miss the mean of all placements by far."""
    monkeypatch.setattr(random_failures, "_draw", lambda nics, dead, samples, seed: [range(dead)] * samples)
    exact, skewed = (mean_of_balance(samples=samples, seed=1) for samples in (36, 35))
    assert abs(skewed / exact - 1) > Fraction(20, 100)


@pytest.mark.parametrize(("nodes", "rails", "dead"), [(3, 2, 2), (4, 2, 3), (5, 1, 2), (5, 2, 4), (4, 3, 3)])
def test_probability_of_a_cut_is_that_of_all_placements(nodes, rails, dead):
    """Inclusion and exclusion count what a look at every placement counts; also two nodes cut off at once."""
    assert cut_off_probability(nodes, rails, dead) == share_cut_off(nodes, rails, dead) > 0


def test_probability_is_not_claimed_where_it_does_not_hold():
    """With as many dead rails as nodes there may be no healthy node: 2 nodes of 2 rails, 2/3 and not 1/3."""
    assert cut_off_probability(2, 2, 2) is None
    assert share_cut_off(2, 2, 2) == Fraction(2, 3)
    assert cut_off_probability(64, 8, 7) == 0
    # the 64 sets that are one node, among all sets of 8
    assert cut_off_probability(64, 8, 8) == Fraction(64, math.comb(512, 8))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"nodes": 1}, "nodes = 1: give a whole number, at least 2"),
        ({"rails": 0}, "rails = 0"),
        ({"dead": 0}, "dead = 0"),
        ({"dead": 7}, "7 dead rails: 3 nodes of 2 have only 6"),
        ({"samples": 0}, "samples = 0"),
    ],
)
def test_impossible_studies_are_refused(arguments, message):
    """Each number that is out of range is named."""
    with pytest.raises(ModelError, match=message):
        study(**{"nodes": 3, "rails": 2, "dead": 1, "samples": 10, "seed": 1, **arguments})


def test_draws_are_sets_of_different_nics():
    """Every draw has k different NICs of the cluster, and all NICs occur."""
    drawn = list(random_failures._draw(12, 4, 200, 3))
    assert all(len(set(one)) == 4 for one in drawn)
    assert {nic for one in drawn for nic in one} == set(range(12))
    assert random.Random("3 12 4").sample(range(12), 4) == list(drawn[0])
