"""Clusters that the tests of the optimum on rails share."""

from __future__ import annotations

from fractions import Fraction

from algorithms.nic import Nic
from analysis.rail_rates import RailRates

RAIL_CASES = [
    # nodes, rails, dead NICs as (node, rail), T*, bound of the nodes; worked out when T* was derived
    (3, 2, [(0, 0), (1, 1)], Fraction(2), Fraction(2)),
    (3, 2, [(0, 0), (1, 0)], Fraction(8, 3), Fraction(2)),
    (3, 4, [(0, 0), (1, 0)], Fraction(16, 9), Fraction(8, 5)),
    (4, 2, [(0, 0), (2, 0), (1, 1)], Fraction(8, 3), Fraction(12, 5)),
    (4, 4, [(0, 0), (1, 0), (2, 0)], Fraction(2), Fraction(24, 13)),
    (2, 3, [(0, 0), (1, 1)], Fraction(3), Fraction(3, 2)),
    (4, 2, [(0, 0), (2, 0), (1, 1), (3, 1)], None, Fraction(3)),
]
"""The seven clusters of live rails at full rate whose optimum was worked out first; None is infinite."""


def cluster(nodes, rails, dead):
    """Describe a cluster by its dead NICs, as pairs of node and rail."""
    return RailRates.of(nodes, rails, [Nic(*nic) for nic in dead])


def random_cluster(rng, most_nodes, most_rails, *, rates=(0, 0, 1, 1, 1, 2, 3, 4)):
    """Draw a cluster with dead and slow NICs; some are not connected."""
    nodes, rails = rng.randint(2, most_nodes), rng.randint(1, most_rails)
    return RailRates(
        tuple(
            tuple(Fraction(rng.choice(rates), max(rates) * rails) for _ in range(rails)) for _ in range(nodes)
        )
    )
