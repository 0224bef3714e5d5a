from __future__ import annotations

import random

import pytest

from analysis import lower_bound
from tests.analysis.tree_packing import children, least_time, spanning_trees


def test_trees_are_all_trees():
    """Cayley: p^(p-2) trees, all different; each reaches every node from every root."""
    for p in range(2, 6):
        trees = spanning_trees(p)
        assert len({frozenset(map(frozenset, links)) for links in trees}) == len(trees) == p ** (p - 2)
        assert all(sum(children(links, root).values()) == p - 1 for links in trees for root in range(p))


def random_bandwidths(rng):
    """Draw 2 to 5 nodes, slow ones among them."""
    return [rng.choice([1, 2, 3, 4, 6, 8, 8, 8]) for _ in range(rng.randint(2, 5))]


@pytest.mark.parametrize("seed", range(30))
def test_node_bound_is_the_best_packing_of_trees(seed):
    """Trees of any shape, p = 2 to 5: the program reaches the bound and never beats it."""
    bandwidths = random_bandwidths(random.Random(seed))
    assert least_time(bandwidths) == pytest.approx(lower_bound.allreduce(bandwidths), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1150))
def test_node_bound_is_the_best_packing_of_trees_often(seed):
    """The same for 150 more clusters."""
    bandwidths = random_bandwidths(random.Random(seed))
    assert least_time(bandwidths) == pytest.approx(lower_bound.allreduce(bandwidths), rel=1e-9)


@pytest.mark.parametrize(
    ("bandwidths", "wrong"),
    [
        ([4, 4, 4, 3], 1 / 3),  # the slowest node alone: too low, since all of the traffic binds
        ([4, 4, 4, 1], 6 / 13),  # the traffic alone: too low, since the slowest node binds
    ],
)
def test_the_packing_tells_a_wrong_bound(bandwidths, wrong):
    """Either count without the other is not what the program finds."""
    assert least_time(bandwidths) > wrong * 1.01
